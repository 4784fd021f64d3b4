"""A server with three tools: `first` answers nothing any more after its first call, `calls` answers no call and everything
else, and the one tool of `slow` takes a while for each call."""

import json
import sys
import threading
import time

MODE = sys.argv[1]
TOOLS = ["echo"] if MODE == "slow" else ["echo", "find", "look"]
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
lock = threading.Lock()


def say(identity, **content):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", "id": identity, **content}), flush=True)


def refuse(identity, code, message):
    say(identity, error={"code": code, "message": message})


def tool(name):
    does = {"echo": "Gives back a text.", "find": "Finds a text.", "look": "Looks at a text."}[name]
    return {"name": name, "description": does, "annotations": {"readOnlyHint": True}, "inputSchema": SCHEMA}


def call(identity, params):
    if MODE == "slow":
        time.sleep(0.1)
    name, arguments = params.get("name"), params.get("arguments", {})
    if name not in TOOLS or not isinstance(arguments, dict):
        return refuse(identity, -32602, "an unknown tool, or arguments that are no object")
    is_valid = list(arguments) == ["text"] and isinstance(arguments["text"], str)
    text = arguments["text"] if is_valid else "the arguments are one text, `text`"
    say(identity, result={"content": [{"type": "text", "text": text}], "isError": not is_valid})


def answer(message):
    identity, method, params = message["id"], message["method"], message.get("params") or {}
    if not isinstance(params, dict):
        refuse(identity, -32602, "the parameters are no object")
    elif method == "initialize":
        known = params.get("protocolVersion") == "2025-06-18"
        version = "2025-06-18" if known else "2025-11-25"
        server = {"name": "silent", "version": "1"}
        say(identity, result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server})
    elif method == "ping":
        say(identity, result={})
    elif method == "tools/list" and "cursor" in params:
        refuse(identity, -32602, "no such page")
    elif method == "tools/list":
        say(identity, result={"tools": [tool(name) for name in TOOLS]})
    elif method == "tools/call" and MODE == "slow":
        threading.Thread(target=call, args=(identity, params), daemon=True).start()
    elif method == "tools/call" and MODE == "first":
        sys.stdin.read()
    elif method != "tools/call":
        refuse(identity, -32601, "an unknown method")


for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        refuse(None, -32700, "no JSON")
        continue
    is_object = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
    identity = message.get("id") if is_object else None
    is_named = isinstance(identity, (int, str))
    if not is_object or not isinstance(message.get("method"), str) or "id" in message and not is_named:
        refuse(identity if is_named else None, -32600, "no request")
    elif is_named:
        answer(message)
