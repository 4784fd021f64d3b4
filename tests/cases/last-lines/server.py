"""Serves users by their number: server.py MODE.

MODE: `quiet`; `loud`, puts a key into `_meta` of every result that no grammar allows; `late`, calls
users from 141 on by another name, and knows nobody from 170 on.
"""

import json
import sys

MODE = sys.argv[1]
ID = {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1, "maximum": 200, "description": "The number of the user"}},
      "required": ["id"], "additionalProperties": False}
USER = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ANNOTATIONS = {"readOnlyHint": True, "openWorldHint": False}


def tool(name, what):
    return {"name": name, "title": what, "description": what, "inputSchema": ID, "outputSchema": USER, "annotations": ANNOTATIONS}


TOOLS = [tool("get_user", "Returns the user with a number")]


def call(params):
    arguments = params.get("arguments")
    number = arguments.get("id") if isinstance(arguments, dict) else None
    is_number = isinstance(number, int) and not isinstance(number, bool) or isinstance(number, float) and number.is_integer()
    if not is_number or not 1 <= number <= 200 or set(arguments) != {"id"}:
        return {"isError": True, "content": [{"type": "text", "text": "`id` must be a number from 1 to 200"}]}
    if MODE == "late" and number >= 170:
        return {"isError": True, "content": [{"type": "text", "text": f"there is no user {number}"}]}
    name = f"Ann {int(number)}" if MODE == "late" and number > 140 else f"User {int(number)}"
    user = {"name": name}
    return {"content": [{"type": "text", "text": json.dumps(user)}], "structuredContent": user}


def answer(message):
    method = message.get("method")
    if method == "initialize":
        versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
        asked = message["params"].get("protocolVersion")
        return {"result": {"protocolVersion": asked if asked in versions else versions[-1], "capabilities": {"tools": {}},
                           "serverInfo": {"name": "users", "version": "1.0.0"}}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        params = message.get("params") or {}
        if "cursor" in params:
            return {"error": {"code": -32602, "message": "no such cursor"}}
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        params = message.get("params") or {}
        if params.get("name") not in [known["name"] for known in TOOLS]:
            return {"error": {"code": -32602, "message": f"unknown tool: {params.get('name')}"}}
        return {"result": call(params)}
    return {"error": {"code": -32601, "message": f"unknown method: {method}"}}


for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}), flush=True)
        continue
    if not isinstance(message, dict) or "method" not in message and "id" not in message:
        print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no request"}}), flush=True)
        continue
    if "id" not in message or "method" not in message:
        continue
    is_request = message.get("jsonrpc") == "2.0" and isinstance(message["id"], (str, int)) and isinstance(message.get("params", {}), dict)
    if not is_request:
        message["id"] = message["id"] if isinstance(message["id"], (str, int)) else None
        reply = {"error": {"code": -32600, "message": "no request of JSON-RPC 2.0"}}
    else:
        reply = answer(message)
    if MODE == "loud" and "result" in reply:
        reply["result"]["_meta"] = {"no key at all!": True}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
