"""A server that serves some of its tools only. The words after its name say what is wrong with it."""
import json
import sys

WRONG = sys.argv[1:]
TEXT = {"type": "string"}


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": f"Returns what is asked of {name}.", "inputSchema": schema,
            "annotations": {"readOnlyHint": True}}


TOOLS = [tool("echo", text=TEXT), tool("get_user", id=TEXT), tool("list_users"), tool("get_order", id=TEXT)]
TOOLS[3]["outputSchema"] = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
calls = {}


def refused(text):
    return {"content": [{"type": "text", "text": text}], "isError": True}


def called(name, arguments):
    schema = next(tool for tool in TOOLS if tool["name"] == name)["inputSchema"]
    for key in schema["required"]:
        if not isinstance(arguments.get(key), str):
            return refused("'list' object has no attribute 'strip'" if "breaks" in WRONG else f"`{key}` must be a text")
    calls[name] = calls.get(name, 0) + 1
    if name == "echo":
        return {"content": [{"type": "text", "text": arguments["text"]}]}
    if "down" in WRONG or ("tires" in WRONG and name == "get_user" and calls[name] > 1):
        return refused("the database is down")
    if "wavers" in WRONG and name == "get_user" and calls[name] == 2:
        return refused("the database is down")
    if "limits" in WRONG and name == "get_user" and calls[name] > 1:
        return refused("too many requests")
    if name == "get_order":
        if "misfits" in WRONG:
            return refused("Output validation error: 'price' is a required property")
        return {"content": [{"type": "text", "text": '{"price": 1}'}], "structuredContent": {"price": 1}}
    return {"content": [{"type": "text", "text": "Ann"}]}


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "serving", "version": "1.0.0"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call" and any(tool["name"] == params.get("name") for tool in TOOLS):
        return {"result": called(params["name"], params.get("arguments", {}))}
    code = -32602 if method == "tools/call" else -32601
    return {"error": {"code": code, "message": "there is no such thing"}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)
