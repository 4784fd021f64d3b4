"""A server of which one tool works, and one never answers."""

import json
import sys

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def tool(name):
    hints = {"readOnlyHint": True}
    return {"name": name, "description": "Gives back a text.", "annotations": hints, "inputSchema": SCHEMA}


def answer(method, params):
    if method == "initialize":
        server = {"name": "hung", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [tool("echo"), tool("silent")]}
    if method == "tools/call" and params["name"] == "echo":
        text = str(params.get("arguments", {}).get("text", "no text"))
        return {"content": [{"type": "text", "text": text}]}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message or method == "tools/call" and params.get("name") == "silent":
        continue
    result = answer(method, params)
    said = {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
