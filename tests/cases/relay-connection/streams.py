"""What a client of a relay over stdio sees of slow connections and of one that breaks off."""

import json
import os
import subprocess
import time

RELAY = [os.environ["MCPROVE"], "relay", "stdio", "--quiet", "--plan", "plan.yml", "--events", "streams.ndjson", "--"]
relay = subprocess.Popen(
    [*RELAY, "python3", "../../servers/keeper.py", "notes", "own"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
)


def send(number, method, **params):
    line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    relay.stdin.write(line.encode() + b"\n")
    return len(line)


def save(number, text):
    return send(number, "tools/call", name="save_note", arguments={"text": text})


def line():
    """A line, the times of its first and its last byte, and in how many reads it came."""
    text, first, reads = b"", None, 0
    while not text.endswith(b"\n"):
        piece = os.read(relay.stdout.fileno(), 65536)
        if not piece:
            return text, first, reads, True
        first, reads, text = first or time.monotonic(), reads + 1, text + piece
    return text, first, reads, False


about = {"name": "client", "version": "1"}
send(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=about)
line()
begun = time.monotonic()
length = save(1, "slow" + "x" * 96)
text, first, reads, _ = line()
ended = time.monotonic()
print("the request took its time:", first - begun >= length / 1000)
print("so did the answer:", ended - begun >= (length + len(text)) / 1000, "in parts:", reads > 3)
# What follows waits behind a message that is on its way.
save(2, "down" + "x" * 196)
save(3, "fast")
order = [json.loads(text)["id"] for text in line()[0].splitlines()]
while len(order) < 2:
    order += [json.loads(text)["id"] for text in line()[0].splitlines()]
print("in order:", order)
save(4, "reset" + "x" * 100)
text, _, _, has_ended = line()
print("a part of the answer:", text.startswith(b'{"jsonrpc"') and not text.endswith(b"}"), "then the end:", has_ended)
print("exit", relay.wait())
for event in map(json.loads, open("streams.ndjson")):
    if event["type"] == "change":
        print(event["direction"], event["faults"], [change.split(" ")[0] for change in event["changes"]])
