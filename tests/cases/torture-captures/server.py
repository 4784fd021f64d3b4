"""Notes, whose ids every process draws anew: `numbers`, or `short` texts."""

import json
import os
import random
import sys

KIND = sys.argv[1]
ID = {"type": "integer"} if KIND == "numbers" else {"type": "string"}
NOTES = {}


def tool(name, hints, **arguments):
    schema = {"type": "object", "properties": arguments, "required": list(arguments)}
    return {"name": name, "inputSchema": schema, "annotations": hints}


TEXT = {"type": "string"}
TOOLS = [
    tool("create_note", {"destructiveHint": False}, title=TEXT),
    tool("append", {"destructiveHint": False}, id=ID, text=TEXT),
    tool("get_note", {"readOnlyHint": True}, id=ID),
]


def call(name, arguments):
    if name == "create_note":
        drawn = random.randrange(100_000, 1_000_000) if KIND == "numbers" else f"{os.getpid() % 1000:03}"
        NOTES[drawn] = [arguments["title"]]
        return {"id": drawn}
    lines = NOTES[arguments["id"]]
    if name == "append":
        lines.append(arguments["text"])
        return {"ok": True}
    return {"lines": lines}


def answer(method, params):
    if method == "initialize":
        info = {"name": "notes", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "ping":
        return {}
    try:
        data = call(params["name"], params["arguments"])
    except KeyError:
        return {"content": [{"type": "text", "text": "there is no such note"}], "isError": True}
    return {"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params"))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
