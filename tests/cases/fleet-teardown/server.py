"""One person in a file: every process that is started here sees the same one, and removing takes a while."""

import json
import pathlib
import sys
import time

FILE = pathlib.Path("person.txt")


def tool(name, hints):
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": hints}


TOOLS = [
    tool("make", {"destructiveHint": False}),
    tool("look", {"readOnlyHint": True}),
    tool("remove", {"destructiveHint": True}),
]


def call(name):
    if name == "make":
        FILE.write_text("ann")
    if name == "remove":
        time.sleep(0.3)
        FILE.unlink(missing_ok=True)
    return FILE.read_text() if FILE.exists() else "nobody"


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        continue
    if method == "initialize":
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "person", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": call(params["name"])}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
