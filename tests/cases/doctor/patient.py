"""The right server over stdio, and the ways in which servers fail before a client can use them: `patient.py MODE`."""

import fcntl
import os
import sys
import time

sys.path.insert(0, "../../servers")
from little import Server


class Discovered(Server):
    """Ends when it is asked what it does not know."""

    def answer(self, method, params):
        if method == "server/discover":
            sys.exit(3)
        return super().answer(method, params)


class Chatty(Server):
    """Says on standard output what it does."""

    def answer(self, method, params):
        if method == "tools/list":
            print("Listing the tools", flush=True)
        return super().answer(method, params)


def banner():
    print("Weather server 2.1 is running on stdio", flush=True)


def keyerror():
    os.environ["WEATHER_API_KEY"]


def key():
    sys.exit("Error: WEATHER_API_KEY is required. Get one at https://weather.example.com")


def locked():
    lock = open("server.lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("error: another process holds server.lock")
    return lock


def stays():
    server.at_end = lambda: time.sleep(600)


mode = sys.argv[1] if len(sys.argv) > 1 else "right"
server = {"discovered": Discovered, "chatty": Chatty}.get(mode, Server)(1, "patient")
PREPARATIONS = {"banner": banner, "keyerror": keyerror, "key": key, "locked": locked, "stays": stays}
kept = PREPARATIONS.get(mode, lambda: None)()
server.serve()
