"""Labels in a file, which each process reads: server.py FILE. A label has a digit."""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Refused, Server, text, tool  # noqa: E402

FILE = sys.argv[1]
TOOLS[:] = [
    tool("list_labels", "Returns all labels.", {}, []),
    tool("count_letters", "Counts the letters of `text`.", {"text": {"type": "string"}}, ["text"]),
    {
        **tool("add_label", "Adds a label.", {"label": {"type": "string"}}, ["label"]),
        "annotations": {"readOnlyHint": False, "destructiveHint": False},
    },
]


def call(name, arguments):
    if name == "count_letters":
        return text(str(len(arguments["text"])))
    if name == "add_label":
        if not re.search(r"\d", arguments["label"]):
            raise Refused("the label is too plain")
        with open(FILE, "a") as labels:
            labels.write(arguments["label"].replace("\n", " ") + "\n")
        return text("added")
    return text(open(FILE).read() if os.path.exists(FILE) else "none")


server = Server(0, name="labels")
server.call_tool = call
server.serve()
