"""The correct server over stdio, but for what the mode in its first argument says.

`answering`: once the rule B2 has spoken, it answers notifications.
`dying`: once the rule B2 has spoken, the next notification ends it.
`slow`: it listens only after three seconds.
"""

import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Server  # noqa: E402

MODE = sys.argv[1]
server = Server(0)
hear = server.hear


def listen(line):
    server.is_spoilt = getattr(server, "is_spoilt", False) or b'7008' in line
    is_notification = b'"method"' in line and b'"id"' not in line
    if server.is_spoilt and is_notification and MODE == "dying":
        print("fatal: nobody thought of that", file=sys.stderr, flush=True)
        os._exit(7)
    if server.is_spoilt and is_notification and MODE == "answering":
        server.write({"id": None, "error": {"code": -32600, "message": "notifications have no id"}})
    hear(line)


if MODE == "slow":
    time.sleep(3)
server.hear = listen
server.serve()
