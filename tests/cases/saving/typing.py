"""Types lines into a command that runs in a terminal, and shows what it says; each line waits for a prompt."""

import os
import pty
import sys

lines, command = sys.argv[1].split("|"), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.environ["TERM"] = "dumb"
    os.execvp(command[0], command)
seen = b""
while True:
    try:
        chunk = os.read(terminal, 4096)
    except OSError:
        break
    if not chunk:
        break
    seen += chunk
    if seen.endswith(b"> ") and lines:
        os.write(terminal, lines.pop(0).encode() + b"\n")
print(seen.decode().replace("\r\n", "\n"), end="")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
