"""A small server with bugs of several severities: `ends` ends it, `waits` answers nothing, `counts` breaks its schema."""
import json
import os
import sys

HINTS = {"readOnlyHint": True, "openWorldHint": False}
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
TOOLS = [
    {"name": "counts", "description": "Counts the notes.", "inputSchema": NOTHING, "outputSchema": COUNT, "annotations": HINTS},
    {"name": "ends", "description": "Tells the age of the notes.", "inputSchema": NOTHING, "annotations": HINTS},
    {"name": "says", "description": "Tells the owner of the notes.", "inputSchema": NOTHING, "annotations": HINTS},
    {"name": "waits", "description": "Tells the size of the notes.", "inputSchema": NOTHING, "annotations": HINTS},
    {"name": "writes", "description": "Writes a note.", "inputSchema": NOTHING},
]


def call(params):
    name, arguments = params.get("name"), params.get("arguments") or {}
    if name not in [tool["name"] for tool in TOOLS]:
        return {"error": {"code": -32602, "message": f"unknown tool {name}"}}
    if arguments:
        return {"error": {"code": -32602, "message": "there are no arguments"}}
    if name == "ends":
        os._exit(3)
    if name == "waits":
        return None
    if name == "counts":
        return {"result": {"content": [{"type": "text", "text": "many"}], "structuredContent": {"count": "many"}}}
    return {"result": {"content": [{"type": "text", "text": "ann"}]}}


def answer(method, params):
    if method == "initialize":
        info = {"name": "notes", "version": "1"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return call(params)
    return {"error": {"code": -32601, "message": "unknown method"}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = answer(message["method"], message.get("params", {}))
        if reply is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
