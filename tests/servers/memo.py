"""Notes over stdio: memo.py MODE.

`keeps` is right; `late` shows a note after two seconds; `queued` says that it stores later, and never does here; `pages` lists
one note on a page; `one` sets the topic of the day, which replaces the last. `drops` confirms a note and does not store it,
`drops-id` does so and names a record; `last` keeps only the note that came last.
"""

import json
import sys
import time

sys.dont_write_bytecode = True
from little import Refused, Server, text  # noqa: E402

MODE = sys.argv[1]
TEXT = {"type": "string"}


def tool(name, about, hints, **properties):
    schema = {"type": "object", "properties": properties, "required": [name for name in properties if name != "cursor"]}
    return {"name": name, "description": about, "inputSchema": schema, "annotations": hints}


WRITES, READS = {"readOnlyHint": False, "destructiveHint": False}, {"readOnlyHint": True}
PAGES = {"cursor": TEXT} if MODE == "pages" else {}
TOOLS = [
    tool("set_topic" if MODE == "one" else "add_note", "Stores a text.", WRITES, text=TEXT),
    tool("get_topic" if MODE == "one" else "list_notes", "Shows what is stored.", READS, **PAGES),
]
if MODE in ("drops-id", "last"):
    TOOLS.append(tool("get_note", "Shows one note.", READS, id=TEXT))
notes = [] if MODE in ("drops-id", "one") else [{"id": "n0", "text": "the first note", "at": 0}]


def call(name, args):
    if name in ("add_note", "set_topic"):
        note = {"id": f"n{call.count}", "text": args["text"], "at": time.monotonic()}
        call.count += 1
        if MODE in ("last", "one"):
            notes.clear()
        if MODE not in ("drops", "drops-id", "queued"):
            notes.append(note)
        if MODE == "queued":
            return text("Queued; it is shown when it was reviewed.")
        return text(json.dumps({"id": note["id"]})) if MODE in ("drops-id", "last", "keeps") else text("Stored.")
    if name == "get_note":
        found = [note for note in notes if note["id"] == args["id"]]
        if not found:
            raise Refused(f"there is no note {args['id']}")
        return text(json.dumps({"text": found[0]["text"]}))
    if name not in ("list_notes", "get_topic"):
        raise LookupError(name)
    age = 2 if MODE == "late" else 0
    shown = [{"id": note["id"], "text": note["text"]} for note in notes if note["at"] + age <= time.monotonic()]
    if MODE == "pages":
        return text(json.dumps({"notes": shown[-1:], "nextCursor": "older"}))
    return text(json.dumps({"notes": shown}))


call.count = 1
server = Server(0, "memo")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
