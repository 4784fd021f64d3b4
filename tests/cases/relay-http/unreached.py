"""A server that cannot be reached hears of no call."""

import json
import sys
import urllib.error

sys.dont_write_bytecode = True
sys.path.append("../../servers")
from calling import call, started  # noqa: E402

relay, url = started(["relay", "http", "--events", "unreached.ndjson", "--upstream", "http://127.0.0.1:9/mcp"], "relaying")
for number in range(2):
    try:
        call(url, number, "create_user", {"name": "Ann"})
    except urllib.error.HTTPError as error:
        print("status", error.code)
relay.terminate()
print(*(line for line in relay.stderr), sep="", end="")
relay.wait()
for event in map(json.loads, open("unreached.ndjson")):
    if event["type"] == "call":
        print(event["tool"], event["outcome"], "heard", event["heard"])
