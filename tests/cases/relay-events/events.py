"""The events of a relay over HTTP whose file may not grow, or that is killed: what is in the file is whole."""

import json
import sys
import urllib.error

sys.dont_write_bytecode = True
sys.path.append("../../servers")
from calling import call, started  # noqa: E402

CALLS = 20
FULL = "ulimit -f 2; "


def is_answered(url, number):
    try:
        return bool(call(url, number, "echo", {"message": f"call {number}"}))
    except (urllib.error.URLError, ConnectionError, AssertionError):
        # A relay that ends may break off the answer under way.
        return False


def run(name, limits, *flags, kill=False):
    server, upstream = started(["serve", "demo", "--http", "127.0.0.1:0"], "serving")
    command = ["relay", "http", "--plan", "plan.yml", "--events", "events.ndjson", *flags, "--upstream", upstream]
    relay, url = started(command, "relaying", limits)
    answered = sum(is_answered(url, number) for number in range(CALLS))
    relay.kill() if kill else relay.terminate()
    print(f"{name}: exit {relay.wait()}, {'all' if answered == CALLS else 'not all'} calls are answered")
    print(*(line for line in relay.stderr if "half" not in line), sep="", end="")
    text = open("events.ndjson").read()
    # A line that is cut off would stop this.
    events = [json.loads(line) for line in text.splitlines()]
    calls = sum(event["type"] == "call" for event in events)
    counted = f"all {CALLS}" if calls == CALLS else "some"
    print(f"the file ends with a whole line: {text.endswith(chr(10))}; {counted} calls in it")
    server.terminate()
    server.wait()


run("full", FULL)
run("full, strict", FULL, "--strict", "--quiet")
run("killed", "", "--quiet", kill=True)
