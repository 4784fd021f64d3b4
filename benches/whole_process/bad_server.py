"""A server with six tools that is bad in one way: `refuses`, `ends`, `hangs`, `mute` or `slow-start`."""

import json
import sys
import time

WAY = sys.argv[1]
NAMES = ["list_words", "find_word", "get_page", "count_words", "read_index", "show_title"]
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "count": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["text"],
}


def tool(name):
    words = name.replace("_", " ").capitalize()
    return {"name": name, "description": words, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}


def refusal(words):
    return {"result": {"isError": True, "content": [{"type": "text", "text": words}]}}


def call(params):
    """The answer to a call; none where there is none."""
    if WAY == "ends":
        sys.exit(1)
    if WAY == "hangs":
        return None
    if WAY == "refuses":
        return refusal("no database: start it first")
    arguments = params.get("arguments", {})
    if params.get("name") not in NAMES:
        return {"error": {"code": -32602, "message": "unknown tool"}}
    if not isinstance(arguments, dict) or not isinstance(arguments.get("text"), str):
        return refusal("`text` must be a string")
    count = arguments.get("count", 1)
    if type(count) is not int or not 1 <= count <= 9:
        return refusal("`count` must be a number from 1 to 9")
    return {"result": {"content": [{"type": "text", "text": "found " + arguments["text"][:20]}]}}


def answer(method, params):
    if method == "initialize":
        server = {"name": "bad", "version": "1"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": [tool(name) for name in NAMES]}}
    if method == "tools/call":
        return call(params)
    return None if WAY == "mute" else {"error": {"code": -32601, "message": "method not found"}}


if WAY == "slow-start":
    time.sleep(5)
for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        if WAY != "mute":
            print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}), flush=True)
        continue
    if not isinstance(message, dict):
        error = {"code": -32600, "message": "invalid request"}
        print(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}), flush=True)
        continue
    if "id" not in message:
        continue
    reply = answer(message.get("method"), message.get("params") or {})
    if reply is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
