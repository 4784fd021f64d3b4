"""Counts the servers of this program that run beside it, and writes the greatest number of them down."""

import json
import os
import pathlib
import sys

RUNNING = pathlib.Path("running")
RUNNING.mkdir(exist_ok=True)
OWN = RUNNING / str(os.getpid())
OWN.write_text("")


def is_alive(process):
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    return True


with open("counts.txt", "a") as counts:
    counts.write(f"{sum(is_alive(file.name) for file in RUNNING.iterdir())}\n")

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        continue
    if method == "initialize":
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "counted", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "ann"}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
