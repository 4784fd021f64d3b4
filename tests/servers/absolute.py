"""Pages in a folder, by paths from the root that lead into it and by no others: absolute.py FOLDER."""

import os
import sys

sys.dont_write_bytecode = True
from little import Refused, Server, text, tool  # noqa: E402

FOLDER = os.path.realpath(sys.argv[1])
TEXT = {"type": "string"}
TOOLS = [
    tool("list_pages", "Lists a folder.", {"path": TEXT}, ["path"]),
    tool("read_page", "Shows a page.", {"path": TEXT}, ["path"]),
    {
        **tool("write_page", "Writes a page.", {"path": TEXT, "content": TEXT}, ["path", "content"]),
        "annotations": {"readOnlyHint": False, "destructiveHint": False},
    },
]


def call(name, arguments):
    known = next((tool for tool in TOOLS if tool["name"] == name), None)
    if known is None:
        raise LookupError(name)
    for key in known["inputSchema"]["required"]:
        if not isinstance(arguments.get(key), str):
            raise Refused(f"{key} is no text")
    path = os.path.realpath(arguments["path"])
    if not os.path.isabs(arguments["path"]) or os.path.commonpath([path, FOLDER]) != FOLDER:
        raise Refused("it is no path from the root that leads into the folder")
    try:
        if name == "list_pages":
            return text("\n".join(sorted(os.listdir(path))))
        if name == "read_page":
            return text(open(path, encoding="utf-8").read())
        with open(path, "w", encoding="utf-8") as file:
            file.write(arguments["content"])
    except (OSError, ValueError) as error:
        raise Refused(f"it cannot be done: {type(error).__name__}")
    return text("written")


server = Server(0, "absolute")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
