"""A server whose tools leave out what they may and more, and that takes no arguments but an object."""
import json
import sys

TOOLS = [
    {"name": "get_note", "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}, "annotations": {}},
    {"name": "list_notes", "inputSchema": {"type": "object", "properties": {"most": {}}}, "annotations": {"title": "Notes"}, "execution": {}},
    {"name": "count_notes", "inputSchema": {"properties": {"id": {"type": "string"}}}, "annotations": {"readOnlyHint": True}},
]


def called(params):
    tool = next((tool for tool in TOOLS if tool["name"] == params.get("name")), None)
    if tool is None:
        return {"error": {"code": -32602, "message": f"unknown tool: {params.get('name')}"}}
    arguments = params.get("arguments", {})
    if not isinstance(arguments, dict):
        return {"error": {"code": -32602, "message": "arguments is no object"}}
    missing = [name for name in tool["inputSchema"].get("required", []) if name not in arguments]
    if missing or not isinstance(arguments.get("id", ""), str):
        text = f"{tool['name']} needs `id`, a text"
        return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}
    return {"result": {"content": [{"type": "text", "text": "1 note"}]}}


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "bare", "version": "1.0.0"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return called(params)
    return {"error": {"code": -32601, "message": f"unknown method: {method}"}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)
