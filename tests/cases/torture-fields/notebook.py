"""A notebook that keeps notes, and loses a part of them or shows it in a way of its own: notebook.py HOW."""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Server, structured, tool  # noqa: E402

HOW = sys.argv[1]
TEXT = {"type": "string", "minLength": 1}
NOTES = []

add = tool(
    "add_note",
    "Adds a note.",
    {"title": TEXT, "content": TEXT, "summary": TEXT, "password": TEXT},
    ["title", "content", "password"],
)
add["annotations"] = {"readOnlyHint": False, "destructiveHint": False}
TOOLS[:] = [
    add,
    tool("get_note", "Returns the note with the id `id`.", {"id": {"type": "integer", "minimum": 1}}, ["id"]),
    tool("find_notes", "Returns the notes with a word in their title.", {"word": {"type": "string"}}, ["word"]),
]

STORED = {
    # Wrong.
    "drops": lambda note: {**note, "content": ""},
    "forgets": lambda note: {**note, "content": None},
    "mixes": lambda note: {**note, "content": note["title"]},
    # Perhaps wrong.
    "optional": lambda note: {**note, "summary": ""},
    "lists": lambda note: {**note, "content": None},
    # Right; the message that shows it is not.
    "scrawls": lambda note: note,
    # Right.
    "keeps": lambda note: note,
    "shouts": lambda note: {name: value and value.upper() for name, value in note.items()},
    "renames": lambda note: {**note, "content": "", "body": note["content"]},
    "shortens": lambda note: {"title": note["title"], "content": f"{len(note['content'])} characters"},
}


def call(name, arguments):
    Server.validate(next(entry["inputSchema"] for entry in TOOLS if entry["name"] == name), arguments)
    if name == "add_note":
        NOTES.append(STORED[HOW]({"summary": None, **arguments, "password": ""}))
        return structured({"id": len(NOTES), "result": f"Note saved: {arguments['title']}"})
    if name == "get_note":
        found = NOTES[arguments["id"] - 1 : arguments["id"]]
        shown = structured({"id": arguments["id"], **found[0]} if found else {})
        return {**shown, "_meta": None} if HOW == "scrawls" else shown
    word = arguments["word"].lower()
    return structured({"notes": [note for note in NOTES if word in note["title"].lower()]})


if HOW == "lists":
    # Only its list can be read, and that leaves out the content.
    del TOOLS[1]
server = Server(0)
server.call_tool = call
server.serve()
