"""The correct server over stdio, which ends with status 7 right after it has echoed `last words`."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Server  # noqa: E402

server = Server(0)
write = server.write


def write_and_die(message):
    write(message)
    if "last words" in str(message):
        print("fatal: out of memory", file=sys.stderr, flush=True)
        os._exit(7)


server.write = write_and_die
server.serve()
