#!/usr/bin/env python3
"""A small MCP server (2025-11-25, stdio) with a memory that its callers share: `leaky.py [MODE [NUMBER]]`.

Every start is a line in `starts.log` beside the suite, and every call one in `calls.log`. Modes: `late NUMBER` takes so
many milliseconds to start, `broken NUMBER` fails at that start, `every NUMBER` refuses every so many calls of `flip`.
"""

import sys
import time

sys.dont_write_bytecode = True
from little import Refused, Server, text, tool  # noqa: E402

WORD = {"word": {"type": "string"}}
TOOLS = [
    tool("remember", "Remembers `word`.", WORD, ["word"]),
    tool("recall", "Returns the word that was remembered last, or `nothing`.", {}, []),
    tool("echo", "Returns `word`.", WORD, ["word"]),
    tool("flip", "Returns `heads`, or refuses.", {}, []),
]


def log(name, words):
    with open(name, "a", encoding="utf-8") as file:
        file.write(words + "\n")


def main(mode="", number="0"):
    log("starts.log", "started")
    if mode == "late":
        time.sleep(int(number) / 1000)
    with open("starts.log", encoding="utf-8") as file:
        starts = len(file.readlines())
    if mode == "broken" and starts == int(number):
        print("the disk is not there", file=sys.stderr, flush=True)
        sys.exit(3)
    server, memory = Server(int(number)), ["nothing"]

    def call(name, arguments):
        if name not in [entry["name"] for entry in TOOLS]:
            raise LookupError(name)
        log("calls.log", " ".join([name, *arguments.values()]))
        if name == "remember":
            memory.append(arguments["word"])
            return text("remembered")
        if name == "recall":
            return text(memory[-1])
        if name == "echo":
            return text(arguments["word"])
        if mode == "every" and server.calls % int(number) == 0:
            raise Refused("The coin stands on its edge.")
        return text("heads")

    server.list_tools = lambda params: {"tools": TOOLS}
    server.call_tool = call
    server.serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
