"""Does what its settings say, but for one fault: configured.py FAULT [OPTION VALUE ...], over stdio.

Options: `--most N` entries, `--folder PATH` for `open`, `--deny WORD` for `add` and `run`, `--zone NAME`, `--rate N` calls in
three seconds. Variables: `READ_ONLY`, and `PORT`, which must be a number.

FAULT: `none`; `ignores` every setting; `writes`, although it refuses; `prefix`, compares only the beginnings of paths;
`exact`, compares only what is written; `default`, takes an invalid port for none, and `warns` says so; `logs` what is
looked up in `data/`, the `first` one alone, or `keeps` it; `repeats` what is idempotent; `counts` calls; `hangs`, `ends` or
`floods` in `add`. `spawns` and `forks` give each answer of `run` a process id, and `forks` compares what is written; `mute`
does the same and shows no output.
"""

import json
import os
import sys
import time
import unicodedata

FAULT, *WORDS = sys.argv[1:]
OPTIONS = {} if FAULT == "ignores" else dict(zip(WORDS[::2], WORDS[1::2]))
READ_ONLY = "READ_ONLY" in os.environ and FAULT != "ignores"

PORT = os.environ.get("PORT", "8080")
if not PORT.isdigit() and FAULT == "warns":
    print(f"PORT is {PORT}, which is no number; it is 8080 now", file=sys.stderr, flush=True)
elif not PORT.isdigit() and FAULT not in ("default", "ignores"):
    sys.exit(f"PORT is {PORT}, which is no number")

READS = {"readOnlyHint": True}
WRITES = {"readOnlyHint": False, "destructiveHint": False}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING = {"type": "object", "properties": {}}
TOOLS = [
    ("add", TEXT, WRITES),
    ("set_title", TEXT, WRITES | {"idempotentHint": True}),
    ("list_entries", NOTHING, READS),
    ("look_up", TEXT, READS),
    ("run", TEXT, WRITES),
    ("open", TEXT, WRITES),
    ("hour", NOTHING, READS),
    ("clock", NOTHING, READS),
]

ENTRIES, TITLE, CALLS = [], {"title": "none", "updated_at": 0}, []


class Refused(Exception):
    pass


def permit(name, text):
    """Refuses what the settings forbid."""
    recent = [at for at in CALLS if time.monotonic() - at < 3]
    if len(recent) > int(OPTIONS.get("--rate", len(recent))):
        raise Refused("too many calls")
    if READ_ONLY and name in ("add", "set_title"):
        if FAULT == "writes":
            ENTRIES.append(text)
        raise Refused("nothing is written")
    if name == "add" and len(ENTRIES) >= int(OPTIONS.get("--most", 1000)):
        raise Refused("there is no room")
    denied = OPTIONS.get("--deny")
    if name == "add" and denied == (text if FAULT == "exact" else plain(text)):
        raise Refused("the word is denied")
    if name == "run" and denied == (text if FAULT in ("exact", "forks", "mute") else program(text)):
        raise Refused("the program is denied")
    folder = OPTIONS.get("--folder")
    if name == "open" and folder:
        inside = text.startswith(folder) if FAULT == "prefix" else os.path.normpath(text).startswith(folder + "/")
        if not inside:
            raise Refused("the file is outside")


def plain(text):
    return unicodedata.normalize("NFKC", text).strip().lower()


def program(text):
    """The program that a shell would run."""
    text = text.replace("$(echo ", "").replace("`echo ", "").removeprefix("true;").removeprefix("true\n").strip(")`")
    words = text.replace("'", "").replace('"', "").replace("\\", "").split()
    return os.path.basename(words[0]) if words else ""


def call(name, text):
    CALLS.append(time.monotonic())
    if name == "add" and FAULT == "hangs":
        time.sleep(3600)
    if name == "add" and FAULT == "ends":
        os._exit(3)
    while name == "add" and FAULT == "floods":
        tell({"method": "notifications/message", "params": {"level": "info", "data": "x" * 9999}})
    permit(name, text)
    if name == "add":
        ENTRIES.append(plain(text) if FAULT == "exact" else text)
        return {"added": ENTRIES[-1]}
    if name == "set_title":
        TITLE.update(title=text, updated_at=TITLE["updated_at"] + 1)
        if FAULT == "repeats":
            ENTRIES.append("a new title")
        return {"title": text}
    if name == "look_up" and FAULT == "logs":
        with open("data/log", "a") as file:
            file.write("looked up\n")
    if name == "look_up" and FAULT == "first" and not os.path.exists("data/first"):
        with open("data/first", "w") as file:
            file.write("looked up\n")
    if name == "look_up" and FAULT == "keeps":
        ENTRIES.append("looked up")
    if name == "list_entries":
        return {"entries": ENTRIES, **TITLE} | ({"calls": len(CALLS)} if FAULT == "counts" else {})
    if name == "run":
        if FAULT in ("spawns", "forks", "mute"):
            CALLS.append(0)
            output = "" if FAULT == "mute" else f"\n{program(text)}: missing operand"
            return f"Process started with PID {4000 + len(CALLS)} (shell: /bin/sh){output}"
        return {"ran": program(text)}
    if name == "hour":
        return {"hour": 14 if OPTIONS.get("--zone") == "east" else 12}
    if name == "clock":
        return {"now": time.time_ns()}
    return {"text": text}


def answer(method, params):
    if method == "initialize":
        identity = {"name": "configured", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": identity}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": schema, "annotations": hints} for name, schema, hints in TOOLS]}
    if method == "tools/call":
        try:
            found = call(params["name"], params.get("arguments", {}).get("text", ""))
        except Refused as why:
            return {"content": [{"type": "text", "text": f"refused, since {why}"}], "isError": True}
        if isinstance(found, str):
            return {"content": [{"type": "text", "text": found}]}
        return {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}
    return {}


def tell(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        tell({"id": request["id"], "result": answer(request["method"], request.get("params", {}))})
