"""A server that does one thing after another: a slow call holds up all that come after it."""
import json
import sys
import time

TEXT = {"type": "object", "properties": {}}
TOOLS = [
    {"name": name, "description": "Returns a word.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}}
    for name in ("get_slow", "get_quick")
]


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "late", "version": "1.0.0"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        if params["name"] == "get_slow":
            time.sleep(9)
        return {"result": {"content": [{"type": "text", "text": "done"}]}}
    return {"result": {}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)
