"""The correct server over stdio, with two tools whose refusals have structured content: `get_price` has what its output
schema forbids, `get_stock` what it allows."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Refused, Server, structured, text, tool  # noqa: E402

server = Server(0)
ITEM = {"item": {"type": "string"}}
OUTPUT = {"type": "object", "properties": {"count": {"type": "number"}}, "required": ["count"]}
entries = {
    "get_price": tool("get_price", "Returns the price of `item`.", ITEM, ["item"], OUTPUT),
    "get_stock": tool("get_stock", "Returns the stock of `item`.", ITEM, ["item"], OUTPUT),
}


def call_tool(name, arguments):
    if name not in entries:
        raise LookupError(name)
    try:
        server.validate(entries[name]["inputSchema"], arguments)
    except Refused as refusal:
        content = {"error": "bad item"} if name == "get_price" else {"count": 0}
        return {**text(str(refusal)), "structuredContent": content, "isError": True}
    return structured({"count": 3})


server.list_tools = lambda params: {"tools": list(entries.values())}
server.call_tool = call_tool
server.serve()
