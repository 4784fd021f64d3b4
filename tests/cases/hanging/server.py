"""The correct server over stdio, with tools that never answer: `look` alone, and with it everything else after `freeze`."""

import os
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Server, tool  # noqa: E402

server = Server(0)
name = sys.argv[1]
entries = [tool(name, "Returns the item with the id `id`.", {"id": {"type": "string"}}, ["id"])]


def call_tool(called, arguments):
    if called != name:
        raise LookupError(called)
    server.validate(entries[0]["inputSchema"], arguments)
    time.sleep(60)


hear = server.hear
if name == "look":
    server.hear = lambda line: threading.Thread(target=hear, args=(line,), daemon=True).start()
server.list_tools = lambda params: {"tools": entries}
server.call_tool = call_tool
server.serve()
