"""Lends a connection from a pool of four to every call of a tool; with `--keep`, no call gives it back, and the fifth
waits for one for ever."""

import json
import sys
import threading

POOL = threading.Semaphore(4)
TOOLS = [
    {
        "name": name,
        "description": about,
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    }
    for name, about in [("get_time", "Returns the time."), ("get_place", "Returns the place.")]
]


def answer(method, params):
    if method == "initialize":
        about = {"name": "lender", "version": "1.0.0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        POOL.acquire()
        if "--keep" not in sys.argv:
            POOL.release()
        return {"content": [{"type": "text", "text": "noon" if params["name"] == "get_time" else "home"}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params", {}))}
        print(json.dumps(reply), flush=True)
