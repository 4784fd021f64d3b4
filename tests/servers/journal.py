"""A journal of notes over stdio, in memory or in a file of JSON lines: journal.py MODE [FILE].

MODE: `sound` keeps all notes of a call or none, stops when a call is cancelled, and skips lines that it cannot read;
`half` keeps the valid notes of a call that it refuses, `late` those of a cancelled one, and `stuck` answers nothing after
a call that it should refuse. If a line cannot be read, `explains`
fails with every call, `complains` does not start and says why, `forgets` begins an empty journal, `crashes` ends when it is
asked, `hangs` does not answer, and `dies` does not start.
"""

import json
import os
import sys
import threading
import time

MODE = sys.argv[1]
FILE = sys.argv[2] if len(sys.argv) > 2 else None
NOTE = {"type": "string", "minLength": 1}
WRITES = {"readOnlyHint": False, "destructiveHint": False}


def tool(name, hints, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool("save_notes", WRITES, notes={"type": "array", "items": NOTE, "minItems": 1}),
    tool("save_slowly", WRITES, note=NOTE),
    tool("list_notes", {"readOnlyHint": True}),
]
notes = []
cancelled = {}
output = threading.Lock()


class Refused(Exception):
    pass


def load():
    if FILE is None:
        return notes
    if not os.path.exists(FILE):
        return []
    found = []
    with open(FILE) as file:
        lines = file.read().splitlines()
    for line in lines:
        try:
            found.append(json.loads(line)["note"])
        except (ValueError, KeyError) as error:
            if MODE == "explains":
                raise Refused(str(error))
            if MODE == "forgets":
                return []
            if MODE == "crashes":
                os._exit(1)
            if MODE == "hangs":
                time.sleep(600)
    return found


def check(note):
    if not note or not isinstance(note, str):
        if MODE == "stuck":
            output.acquire()
        raise Refused("a note is empty")


def save(note):
    check(note)
    if FILE is None:
        notes.append(note)
        return
    with open(FILE, "a") as file:
        file.write(json.dumps({"note": note}) + "\n")


def call(name, arguments, stop):
    if name == "list_notes":
        return load()
    if name == "save_notes":
        given = arguments.get("notes")
        if not isinstance(given, list) or not given:
            raise Refused("`notes` is no list")
        for note in given if MODE != "half" else []:
            check(note)
        for note in given:
            save(note)
    elif name == "save_slowly":
        check(arguments.get("note"))
        is_cancelled = stop.wait(0.3)
        if not is_cancelled or MODE == "late":
            save(arguments.get("note"))
        if is_cancelled:
            return None
    return "saved"


def reply(message, result):
    with output:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


def run(message, stop):
    params = message["params"]
    try:
        said, is_error = call(params["name"], params.get("arguments", {}), stop), False
    except Refused as refusal:
        said, is_error = str(refusal), True
    if said is not None:
        reply(message, {"content": [{"type": "text", "text": json.dumps(said)}], "isError": is_error})


if MODE in ("dies", "complains"):
    for line in open(FILE) if os.path.exists(FILE) else []:
        if not line.rstrip().endswith("}"):
            if MODE == "complains":
                print(f"{FILE} has a line that cannot be read", file=sys.stderr, flush=True)
            os._exit(1)
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if method == "notifications/cancelled":
        cancelled.get(message["params"]["requestId"], threading.Event()).set()
    elif method == "initialize":
        about = {"name": "journal", "version": "1.0.0"}
        reply(message, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about})
    elif method == "tools/list":
        reply(message, {"tools": TOOLS})
    elif method == "tools/call":
        stop = cancelled[message["id"]] = threading.Event()
        threading.Thread(target=run, args=(message, stop), daemon=True).start()
    elif "id" in message:
        reply(message, {})
