"""The correct server over stdio, which ends on some words, and while it has two calls to answer."""

import os
import select
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Server  # noqa: E402

# Unbuffered, so that it can be seen whether another request waits.
sys.stdin = SimpleNamespace(buffer=open(0, "rb", buffering=0, closefd=False))
server = Server(0)
correct = server.correct_call


def call(name, arguments):
    another_waits = select.select([0], [], [], 1)[0]
    if arguments.get("text") == "last words" or another_waits:
        os._exit(3)
    return correct(name, arguments)


server.call_tool = call
server.serve()
