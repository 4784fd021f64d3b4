"""Listens at a port for a moment to see whether it is free, as some frameworks do, and then starts the server there.

`probing.py PORT COMMAND…`: the port is listened at, the first connection is taken and closed, and a while later the
command runs, whose server stays.
"""

import os
import socket
import sys
import time

with socket.socket() as probe:
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind(("127.0.0.1", int(sys.argv[1])))
    probe.listen()
    probe.accept()[0].close()
time.sleep(0.3)
os.execvp(sys.argv[2], sys.argv[2:])
