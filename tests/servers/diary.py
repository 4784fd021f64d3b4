"""A diary over stdio that keeps its entries in a file, or as files in a folder: diary.py STORE [MODE].

STORE: a path, `env` for the path in the variable DIARY, or `here` for `entries.txt` in the folder in which it starts.
MODE: `lock` locks the file while it runs, and does not start beside another process that has; `hangs` answers no call.
"""

import fcntl
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from little import TOOLS, Refused, Server, text, tool  # noqa: E402

STORE, MODE = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
STORE = {"env": os.environ.get("DIARY", "").removeprefix("diary://"), "here": "entries.txt"}.get(STORE, STORE)
TEXT = {"type": "string", "minLength": 1, "maxLength": 200}

TOOLS[:] = [
    tool("write_entry", "Adds an entry to the diary.", {"text": TEXT}, ["text"]),
    tool("list_entries", "Returns all entries, one a line.", {}, []),
]
TOOLS[0]["annotations"] = {"readOnlyHint": False, "destructiveHint": False}


def entries():
    if os.path.isdir(STORE):
        return [open(os.path.join(STORE, name)).read() for name in sorted(os.listdir(STORE))]
    return open(STORE).read().splitlines() if os.path.exists(STORE) else []


def call(name, arguments):
    if MODE == "hangs":
        time.sleep(600)
    if name == "list_entries":
        return text("\n".join(entries()))
    if name != "write_entry":
        raise LookupError(name)
    entry = arguments.get("text")
    if not isinstance(entry, str) or not 0 < len(entry) <= 200:
        raise Refused("The argument `text` must be a text of 1 to 200 characters.")
    if os.path.isdir(STORE):
        with open(os.path.join(STORE, f"{len(entries()):04}.txt"), "w") as file:
            file.write(entry)
    else:
        with open(STORE, "a") as file:
            file.write(entry + "\n")
    return text(f"the diary has {len(entries())} entries")


if MODE == "lock":
    lock = open(STORE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("the diary is locked by another process")
server = Server(0, name="diary")
server.call_tool = call
server.serve()
