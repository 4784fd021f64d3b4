"""Keeps notes by name in `shelf.json`, from one run to the next, and loses nothing of them."""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Refused, Server, structured, tool  # noqa: E402

FILE = Path("shelf.json")
NEW = FILE.with_suffix(".new")
NAME = {"type": "string", "minLength": 1}

put = tool("put_note", "Stores a note under its name.", {"name": NAME, "content": NAME}, ["name", "content"])
put["annotations"] = {"readOnlyHint": False, "destructiveHint": False}
TOOLS[:] = [put, tool("get_note", "Returns the note with the name `name`.", {"name": NAME}, ["name"])]
NOTES = json.loads(FILE.read_text()) if FILE.exists() else {}


def call(name, arguments):
    Server.validate(next(entry["inputSchema"] for entry in TOOLS if entry["name"] == name), arguments)
    if name == "put_note":
        NOTES[arguments["name"]] = arguments["content"]
        # It is killed among its writes.
        NEW.write_text(json.dumps(NOTES))
        NEW.replace(FILE)
        return structured({"stored": True})
    if arguments["name"] not in NOTES:
        raise Refused("there is no note of that name")
    return structured({"name": arguments["name"], "content": NOTES[arguments["name"]]})


server = Server(0, name="shelf")
server.call_tool = call
server.serve()
