"""A server with one tool; the word after its name says what it makes of numbers and booleans that come as text."""
import json
import sys

HOW = sys.argv[1]
TYPES = {"limit": int, "exact": bool}
SCHEMA = {
    "type": "object",
    "properties": {"limit": {"type": "integer", "minimum": 1, "maximum": 50}, "exact": {"type": "boolean"}},
    "required": ["limit", "exact"],
    "additionalProperties": False,
}
TOOL = {"name": "search_users", "description": "Searches users.", "inputSchema": SCHEMA,
        "annotations": {"readOnlyHint": True}}


def refused(text):
    return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}


def called(arguments):
    if set(arguments) != set(TYPES):
        return refused("give `limit` and `exact`, and nothing else")
    if HOW in ("reads", "breaks"):
        for name, value in arguments.items():
            if isinstance(value, str) and value in ("true", "false") or str(value).isdigit() and name == "limit":
                if isinstance(value, str) and HOW == "breaks":
                    return {"error": {"code": -32603, "message": "Internal error"}}
                arguments[name] = json.loads(value) if isinstance(value, str) else value
    for name, value in arguments.items():
        if type(value) is not TYPES[name]:
            return refused(f"`{name}` is of a wrong type")
    # 0 stands for a limit that was not given.
    if not (1 <= arguments["limit"] <= 50) and not (HOW == "unbounded" and arguments["limit"] < 0):
        return refused("`limit` is from 1 to 50")
    return {"result": {"content": [{"type": "text", "text": "Ann"}]}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    answer = {"error": {"code": -32601, "message": "there is no such method"}}
    if method == "initialize":
        info = {"name": "texts", "version": "1.0.0"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif method == "ping":
        answer = {"result": {}}
    elif method == "tools/list":
        answer = {"result": {"tools": [TOOL]}}
    elif method == "tools/call":
        answer = called(params["arguments"])
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
