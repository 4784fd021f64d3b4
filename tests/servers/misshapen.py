"""misshapen.py [METHOD POINTER [JSON]]: a right server (2025-11-25) with every list; the answers to METHOD get JSON at POINTER, or lose it."""

import json
import sys

BLOCK = {"type": "text", "text": "hello"}
ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": False}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "misshapen", "version": "1.0.0"},
    },
    "ping": {},
    "tools/list": {
        "tools": [
            {
                "name": "get_word",
                "description": "Gets the word of the day.",
                "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
                "annotations": {"readOnlyHint": True},
            }
        ]
    },
    "tools/call": {"content": [BLOCK]},
    "resources/list": {"resources": [{"uri": "note://a", "name": "a"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": [{"uri": "note://a", "text": "a"}]},
    "prompts/list": {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": False}]}]},
    "prompts/get": {"messages": [{"role": "user", "content": BLOCK}]},
}


def refusal(method, params):
    """The code of the error for a request, if it gets one."""
    arguments = params.get("arguments", {}) if isinstance(params, dict) else None
    if method not in ANSWERS:
        return -32601
    if not isinstance(params, dict) or params.get("cursor") is not None or not isinstance(arguments, dict):
        return -32602
    if method == "tools/call" and (params.get("name") != "get_word" or arguments):
        return -32602
    if method == "prompts/get" and (params.get("name") != "greet" or not isinstance(arguments.get("who", ""), str)):
        return -32602
    if method == "resources/read" and params.get("uri") != "note://a":
        return -32002
    return None


def misshape(result, pointer, value):
    """Changes what a JSON pointer names, or takes it away if there is no value."""
    whole = {"result": result}
    *way, last = pointer.lstrip("/").split("/")
    holder = whole
    for name in way:
        holder = holder[int(name) if isinstance(holder, list) else name]
    last = int(last) if isinstance(holder, list) else last
    if value is None:
        del holder[last]
    else:
        holder[last] = json.loads(value)
    return whole["result"]


def main(method=None, pointer=None, value=None):
    answers = json.loads(json.dumps(ANSWERS))
    if method:
        answers[method] = misshape(answers[method], pointer, value)
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not JSON"}}), flush=True)
            continue
        asked = message if isinstance(message, dict) else {}
        number, name = asked.get("id"), asked.get("method")
        is_id = isinstance(number, (int, str)) and not isinstance(number, bool)
        if isinstance(name, str) and "id" not in asked or "result" in asked or "error" in asked:
            continue
        if asked.get("jsonrpc") != "2.0" or not isinstance(name, str) or not is_id:
            code = -32600
        else:
            code = refusal(name, asked.get("params", {}))
        answer = {"jsonrpc": "2.0", "id": number if is_id else None}
        if code is None:
            answer["result"] = answers[name]
        else:
            answer["error"] = {"code": code, "message": f"`{name}` is refused: look at its name and arguments"}
        print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
