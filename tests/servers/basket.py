"""A basket over stdio, in memory: basket.py MODE.

`add_item` says that it is idempotent: the same key adds once. `log_note` says nothing, and adds a note each time it is
called; it writes the text and the total in two steps. MODE: `careful` keeps its word; `careless` adds again each time;
`short` remembers a key until it is repeated, so that the second repetition adds again; `halfway` stops between the two steps
of `log_note` when the call is cancelled, and keeps the first; `sulking` answers no call after one was cancelled; `dying` ends
when a request comes twice.
"""

import json
import sys
import threading
import time

MODE = sys.argv[1]
TEXT = {"type": "string", "minLength": 1}


def tool(name, hints, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool("add_item", {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True}, key=TEXT, item=TEXT),
    tool("log_note", {"readOnlyHint": False, "destructiveHint": False}, note=TEXT),
    tool("list_items", {"readOnlyHint": True}),
    tool("list_notes", {"readOnlyHint": True}),
]
items, notes, keys = [], [], set()
total = 0
lock, output = threading.Lock(), threading.Lock()
cancelled, seen = set(), set()


def add_item(arguments):
    key = arguments["key"]
    is_known = key in keys and MODE != "careless"
    if is_known:
        if MODE == "short":
            keys.discard(key)
    else:
        keys.add(key)
        # A clock, which is held against no server.
        clock = {"added_at": time.time()} if MODE == "careful" else {}
        items.append({"item": arguments["item"], **clock})
    return {"added": arguments["item"]}


def log_note(arguments, number):
    global total
    notes.append(arguments["note"])
    if MODE == "halfway":
        for _ in range(20):
            time.sleep(0.01)
            if number in cancelled:
                return None
    total += 1
    return {"noted": total}


def call(name, arguments, number):
    if name == "add_item":
        with lock:
            return add_item(arguments)
    if name == "log_note":
        return log_note(arguments, number)
    if name == "list_items":
        return {"items": items}
    return {"notes": notes, "total": total}


def write(message):
    with output:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(message):
    method, number, params = message["method"], message["id"], message.get("params", {})
    if method == "initialize":
        about = {"name": "basket", "version": "1.0.0"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        if MODE == "sulking" and cancelled:
            return
        shown = call(params["name"], params.get("arguments", {}), number)
        if shown is None:
            return
        result = {"content": [{"type": "text", "text": json.dumps(shown)}], "structuredContent": shown}
    elif method == "ping":
        result = {}
    else:
        write({"id": number, "error": {"code": -32601, "message": f"no method {method}"}})
        return
    write({"id": number, "result": result})


for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "notifications/cancelled":
        cancelled.add(message["params"]["requestId"])
    elif "id" in message:
        if MODE == "dying" and message["id"] in seen:
            sys.exit(7)
        seen.add(message["id"])
        if message["method"] == "tools/call" and MODE == "halfway":
            threading.Thread(target=answer, args=(message,), daemon=True).start()
        else:
            answer(message)
