"""Counts the servers of this program that run beside it, writes the greatest number of them down, and is a server."""

import os
import pathlib

RUNNING = pathlib.Path("running")
RUNNING.mkdir(exist_ok=True)
OWN = RUNNING / str(os.getpid())
OWN.write_text("")


def is_alive(process):
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    return True


with open("counts.txt", "a") as counts:
    counts.write(f"{sum(is_alive(file.name) for file in RUNNING.iterdir())}\n")

os.execvp("python3", ["python3", "../../servers/keeper.py", "notes", "own"])
