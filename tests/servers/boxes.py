"""Boxes that have to be made before something is in them, and are kept in a file: boxes.py FILE."""

import sys

sys.dont_write_bytecode = True
from little import Refused, Server, text, tool  # noqa: E402

TEXT = {"type": "string"}
TOOLS = [
    {
        **tool("make_box", "Makes a box.", {"label": TEXT}, ["label"]),
        "annotations": {"readOnlyHint": False, "destructiveHint": False},
    },
    tool("open_box", "Shows what is in a box.", {"box_id": TEXT}, ["box_id"]),
]


def call(name, arguments):
    value = arguments.get("label" if name == "make_box" else "box_id")
    if not isinstance(value, str):
        raise Refused("a text is missing")
    with open(sys.argv[1], "a+", encoding="utf-8") as file:
        file.seek(0)
        boxes = file.read().splitlines()
        if name == "make_box":
            file.write(f"box-{len(boxes)}\n")
            return text(f"Box ID: box-{len(boxes)}")
    if name != "open_box":
        raise LookupError(name)
    if value not in boxes:
        raise Refused("there is no such box")
    return text("nothing")


server = Server(0, "boxes")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
