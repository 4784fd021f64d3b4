"""A ledger over stdio in a file, which a clean end leaves whole: ledger.py MODE FILE.

`put_entry` says that it is idempotent: the same key is put once. `add_entry` says nothing, and adds an entry each time it is
called. `remove_entry` removes all entries of a key. MODE: `careful` confirms a call when it is in the file; `behind` confirms
it before, and writes at the clean end; `torn` writes the entries before it confirms a call, and their count at the clean end;
`locked` leaves a lock behind, with which it does not start; `memory` keeps nothing; `guesses` carries out calls of which a
part came; `hasty` takes every piece of its input for a message; `impatient` ends when nobody takes its answer.
"""

import json
import os
import re
import select
import sys

MODE, FILE = sys.argv[1:3]
LOCK = FILE + ".lock"
TEXT = {"type": "string", "minLength": 1}


def tool(name, hints, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "inputSchema": schema, "annotations": hints}


WRITES = {"readOnlyHint": False, "destructiveHint": False}
TOOLS = [
    tool("put_entry", WRITES | {"idempotentHint": True}, key=TEXT),
    tool("add_entry", WRITES, key=TEXT),
    tool("remove_entry", {"readOnlyHint": False, "destructiveHint": True}, key=TEXT),
    tool("list_entries", {"readOnlyHint": True}),
]


def load():
    if MODE == "memory" or not os.path.exists(FILE):
        return {"entries": [], "count": 0}
    with open(FILE) as file:
        return json.load(file)


def save(kept):
    if MODE == "memory":
        return
    with open(FILE + ".new", "w") as file:
        json.dump(kept, file)
    os.replace(FILE + ".new", FILE)


def call(name, key):
    entries = ledger["entries"]
    if name == "list_entries":
        return ledger
    if name == "remove_entry":
        entries[:] = [entry for entry in entries if entry != key]
    elif name == "add_entry" or key not in entries:
        entries.append(key)
    written = ledger["count"]
    ledger["count"] = len(entries)
    if MODE == "torn":
        save(ledger | {"count": written})
    elif MODE != "behind":
        save(ledger)
    return {"done": name}


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        about = {"name": "ledger", "version": "1.0.0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        shown = call(params["name"], params.get("arguments", {}).get("key"))
        return {"content": [{"type": "text", "text": json.dumps(shown)}], "structuredContent": shown}
    return {}


def pieces():
    while piece := os.read(0, 65536):
        yield from piece.decode(errors="replace").splitlines()


def write(message):
    line = json.dumps(message).encode() + b"\n"
    os.set_blocking(1, MODE != "impatient")
    while line:
        if MODE == "impatient" and not select.select([], [1], [], 0.3)[1]:
            sys.exit("nobody takes the answer")
        line = line[os.write(1, line) :]


if MODE == "locked":
    if os.path.exists(LOCK):
        sys.exit("the ledger is locked")
    open(LOCK, "w").close()
ledger = load()
for line in pieces() if MODE == "hasty" else sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        key = re.search(r'"key": ?"(\w+)', line)
        if key and MODE == "guesses":
            call("put_entry", key.group(1))
        write({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "this is no JSON"}})
        continue
    if "id" in message:
        write({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)})
save(ledger)
if MODE == "locked":
    os.remove(LOCK)
