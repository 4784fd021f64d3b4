"""A server with items, and a tool that calls others by name and says of an unknown one that there is no such tool. With
`text` or `code` it lists `get-item`, which its dispatcher does not know by that name."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Refused, Server, text, tool  # noqa: E402

MODE = (sys.argv[1:] or ["right"])[0]
TOOLS = [
    tool("list-items", "Lists the ids of all items.", {}, []),
    tool("get-item", "Returns the item with the id `id`: i1 or i2.", {"id": {"type": "string"}}, ["id"]),
    tool("call-tool", "Calls the tool `name`.", {"name": {"type": "string"}}, ["name"]),
]


def call(name, arguments):
    known = "get_item" if MODE in ("text", "code") else "get-item"
    if name == "list-items":
        return text("i1, i2")
    if name == known:
        if arguments.get("id") in ("i1", "i2"):
            return text("an item")
        raise Refused(f"unknown item: {arguments.get('id')}")
    if name == "call-tool":
        raise Refused(f"Unknown tool: {arguments.get('name')}")
    if MODE == "text":
        raise Refused(f"Unknown tool: {name}")
    raise LookupError(name)


server = Server(0, "items")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
