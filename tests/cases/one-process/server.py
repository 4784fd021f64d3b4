"""A store that one process at a time may use: server.py HOW. Beside another process it `exits`, `refuses` its calls, or
does not mind (`shares`)."""

import os
import socket
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Refused, Server, text, tool  # noqa: E402

HOW = sys.argv[1]
lock = socket.socket(socket.AF_UNIX)
try:
    # A name in no folder, which the system gives back when the process ends.
    lock.bind(f"\0one-process-{HOW}-{os.getppid()}")
    is_alone = True
except OSError:
    is_alone = HOW == "shares"
if HOW == "exits" and not is_alone:
    sys.exit("the store is locked by another process")

TOOLS[:] = [tool("get_total", "Returns the total of the store.", {}, [])]


def call(name, arguments):
    if not is_alone:
        raise Refused("the store is locked by another process")
    return text("42")


server = Server(0, name="store")
server.call_tool = call
server.serve()
