"""What a server over HTTP hears of a storm of requests: every copy, whose answer nobody gets, and the client gets its own."""

import sys
import time

sys.dont_write_bytecode = True
sys.path.append("../../servers")
from calling import call, started  # noqa: E402

server, upstream = started(["serve", "demo", "--http", "127.0.0.1:0"], "serving")
relay, url = started(["relay", "http", "--plan", "storm.yml", "--upstream", upstream], "relaying")
asked_for = {"progressToken": 1, "mcprove/task": "a task"}
call(url, 1, "create_user", {"name": "Ann", "email": "ann@example.com"}, **asked_for)
for attempt in range(100):
    total = call(upstream, 2, "list_users", {})["structuredContent"]["total"]
    if total == 6:
        break
    time.sleep(0.05)
print(f"the server has {total} users")
relay.terminate()
print(*(line for line in relay.stderr), sep="", end="")
relay.wait()
server.terminate()
server.wait()
