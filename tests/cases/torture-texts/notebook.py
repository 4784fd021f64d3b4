"""A notebook that keeps notes, and changes their texts or shows others: notebook.py HOW."""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Refused, Server, structured, tool  # noqa: E402

HOW = sys.argv[1]
TEXT = {"type": "string"}
NOTES, SHOWN = [], []

add = tool("add_note", "Adds a note.", {"title": TEXT, "body": TEXT}, ["title", "body"])
add["annotations"] = {"readOnlyHint": False, "destructiveHint": False}
TOOLS[:] = [
    add,
    tool("get_note", "Returns the note with the id `id`.", {"id": {"type": "integer", "minimum": 1}}, ["id"]),
    tool("list_notes", "Returns all notes.", {}, []),
]

STORED = {
    # Wrong.
    "cuts": lambda text: text[:255],
    "ascii": lambda text: text.encode("ascii", "ignore").decode(),
    "plane": lambda text: "".join(letter for letter in text if ord(letter) < 0x10000),
    "line": lambda text: text.replace("\n", " "),
    "patterns": lambda text: text.replace("$&", "note").replace("$1", "").replace("\\1", ""),
    # Right.
    "loud": lambda text: text.upper(),
    "pages": lambda text: text.replace("&", "&amp;"),
}


def call(name, arguments):
    Server.validate(next(entry["inputSchema"] for entry in TOOLS if entry["name"] == name), arguments)
    if name == "list_notes":
        return structured({"notes": [{**note, "body": note["body"][:40]} for note in NOTES]})
    if name == "get_note":
        found = NOTES[arguments["id"] - 1 : arguments["id"]]
        if not found:
            raise Refused("there is no such note")
        return structured(answer(found[0]))
    if HOW == "refuses" and len(arguments["body"]) > 255:
        raise Refused("`body` is too long")
    note = {field: STORED.get(HOW, str)(text) for field, text in arguments.items()}
    if HOW == "exchanges":
        note = {"title": note["body"], "body": note["title"]}
    if HOW == "forgets":
        return structured({"result": "saved"})
    NOTES.append({"id": len(NOTES) + 1, **note})
    return structured(answer(NOTES[-1]) if HOW == "before" else NOTES[-1])


def answer(note):
    """`before` answers with the note of the last answer."""
    SHOWN.append(note)
    return {**SHOWN[-2], "id": note["id"]} if HOW == "before" and len(SHOWN) > 1 else note


server = Server(0)
server.call_tool = call
server.serve()
