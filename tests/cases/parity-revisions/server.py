"""A server of two eras, one implementation for each: with `apart` they have grown apart, with `same` they agree."""

import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Server  # noqa: E402

PREFIX = "io.modelcontextprotocol/"
APART = sys.argv[1] == "apart"
COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
READS = {"readOnlyHint": True}
server = Server(0)
handshake = server.answer


def tools(is_new):
    limit = {"type": "integer", "minimum": 1, "maximum": 100 if is_new and APART else 1000}
    search = {"type": "object", "properties": {"limit": limit}, "required": ["limit"]}
    listed = [
        {"name": "search", "inputSchema": search, "annotations": READS},
        {"name": "clock", "inputSchema": {"type": "object"}, "annotations": READS},
        {"name": "rate", "inputSchema": {"type": "object"}, "annotations": READS},
    ]
    return listed if not is_new or not APART else listed + [{"name": "translate", "inputSchema": {"type": "object"}}]


def call(name, is_new):
    if name == "clock":
        return f"{time.time_ns()} ns"
    if name == "rate":
        return "0.25" if is_new and APART else "25 %"
    return "3 hits"


def answer(method, params):
    is_new = PREFIX + "protocolVersion" in params.get("_meta", {})
    if method == "server/discover":
        result = {"supportedVersions": ["2026-07-28", "2025-11-25"], "capabilities": {"tools": {}}}
    elif method == "tools/list":
        result = {"tools": tools(is_new)}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": call(params["name"], is_new)}]}
    else:
        return handshake(method, params)
    return {"result": {**result, **COMPLETE, "_meta": {PREFIX + "serverInfo": server.about}} if is_new else result}


server.answer = answer
server.serve()
