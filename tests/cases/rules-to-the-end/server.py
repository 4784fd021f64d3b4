"""The correct server over stdio, but for what the mode in its first argument says.

`answering`: it answers a call that was cancelled, and ends with the next request.
`forgetting`: it takes any cursor, and ends with a cursor of the rule W10.
"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Server  # noqa: E402

MODE = sys.argv[1]
server = Server(0)
hear = server.hear


def listen(line):
    is_fatal = b"mcprove-no-such-cursor" in line if MODE == "forgetting" else getattr(server, "is_spoilt", False)
    if is_fatal:
        print("fatal: nobody thought of that", file=sys.stderr, flush=True)
        os._exit(7)
    server.is_spoilt = b"notifications/cancelled" in line
    hear(line)


server.hear = listen
server.serve()
