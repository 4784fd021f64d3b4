"""A server over stdio whose calls of `echo` leave something behind: hoarder.py MODE.

MODE: `tidy` leaves nothing; `files` keeps a file open for each call; `processes` starts a process for each and never ends
it; `memory` keeps a mebibyte for each.
"""

import subprocess
import sys

import little

kept = []


def keep(mode):
    if mode == "files":
        kept.append(open("/dev/null"))
    elif mode == "processes":
        kept.append(subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
    elif mode == "memory":
        kept.append(b"x" * (1 << 20))


server = little.Server(1, "hoarder")


def call(*arguments):
    keep(sys.argv[1])
    return server.correct_call(*arguments)


server.call_tool = call
server.serve()
