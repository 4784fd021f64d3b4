"""Keeps entries in a file from one run to the next: ledger.py FILE HOW.

`whole` lists all of them, `first` the first six and `last` the last six, and none of these loses one. `lags` writes its
entries to the file at its end.
"""

import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Server, structured, tool  # noqa: E402

FILE, HOW = Path(sys.argv[1]), sys.argv[2]
SHOWN = {"first": slice(6), "last": slice(-6, None)}.get(HOW, slice(None))

add = tool("add_entry", "Adds an entry.", {"text": {"type": "string"}}, ["text"])
add["annotations"] = {"readOnlyHint": False, "destructiveHint": False}
TOOLS[:] = [add, tool("list_entries", "Returns the entries.", {}, [])]
ENTRIES = FILE.read_text().splitlines() if FILE.exists() else []
waiting = []


def store(entries):
    with FILE.open("a") as file:
        file.writelines(entry + "\n" for entry in entries)
        file.flush()
        os.fsync(file.fileno())


def call(name, arguments):
    Server.validate(next(entry["inputSchema"] for entry in TOOLS if entry["name"] == name), arguments)
    if name == "add_entry":
        ENTRIES.append(arguments["text"])
        waiting.append(arguments["text"])
        if HOW != "lags":
            store(waiting)
            waiting.clear()
        return structured({"stored": True})
    return structured({"entries": ENTRIES[SHOWN]})


server = Server(0, name="ledger")
server.call_tool = call
server.at_end = lambda: store(waiting)
server.serve()
