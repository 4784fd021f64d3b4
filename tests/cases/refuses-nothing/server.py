"""A tool without parameters that looks at no arguments, or, with `strict`, refuses what it does not know."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Refused, Server, text  # noqa: E402

SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS = [{"name": "list_searches", "description": "Lists all searches.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}]


def call(name, arguments):
    if name != "list_searches":
        raise LookupError(name)
    if arguments and "strict" in sys.argv:
        raise Refused("list_searches takes no arguments")
    return text("no searches")


server = Server(0, "searches")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
