"""Hotels and notes; with `leaky`, values are pasted into statements, and paths lead anywhere."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Refused, Server, text  # noqa: E402

IS_LEAKY = "leaky" in sys.argv
TEXT = {"type": "string"}
NOTE = {"type": "object", "properties": {"file_path": {"type": "string", "examples": ["today.md"]}}, "required": ["file_path"]}


def tool(name, about, properties, **hints):
    schema = {"type": "object", "properties": properties, "required": list(properties), "$defs": {"Note": NOTE}}
    return {"name": name, "description": about, "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool("search_hotels", "Search hotels by name.", {"name": TEXT}, readOnlyHint=False, destructiveHint=True),
    tool("book_hotel", "Books a hotel.", {"name": TEXT}, readOnlyHint=False, destructiveHint=True),
    tool("read_notes", "Reads notes.", {"files": {"type": "array", "items": {"$ref": "#/$defs/Note"}}}, readOnlyHint=True),
    tool("read_lines", "Reads lines.", {"paths": {"type": "array", "items": TEXT, "examples": [["today.md"]]}}, readOnlyHint=True),
]


def call(name, args):
    if name == "search_hotels" and IS_LEAKY and "'" in args["name"]:
        raise Refused("near \"'\": syntax error")
    if name in ("search_hotels", "book_hotel"):
        return text("Ritz")
    paths = [note["file_path"] for note in args.get("files", [])] + args.get("paths", [])
    if IS_LEAKY and any(path.endswith("/etc/passwd") for path in paths):
        return text("root:x:0:0:root:/root:/bin/sh")
    if any(path != "today.md" for path in paths):
        raise Refused("there is no note of that name")
    return text("buy milk")


server = Server(0, "hotels")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
