"""The correct server over stdio, which forgets what comes after the tenth letter and cannot add beyond a hundred."""

import os
import sys

sys.dont_write_bytecode = True
sys.tracebacklimit = 0  # How long paths are differs from machine to machine.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import TOOLS, Refused, Server, text, tool  # noqa: E402

TOOLS.append({**tool("wipe", "Wipes everything.", {}, []), "annotations": {"readOnlyHint": False}})
server = Server(0)
correct = server.correct_call


def call(name, arguments):
    if name == "wipe":
        print("wiped", file=sys.stderr, flush=True)
        os._exit(9)
    if name == "slow":
        raise Refused("Nothing is slow enough today.")
    result = correct(name, arguments)
    if name == "echo":
        return text(arguments["text"][:10])
    if name == "add" and arguments["a"] > 100:
        raise TypeError("one hundred is enough")
    return result


server.call_tool = call
server.serve()
