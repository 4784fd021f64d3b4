#!/usr/bin/env python3
"""A basket as an MCP server over stdio with one bug: the fifth `add_item` without a `checkout` ends the process.

No single call shows it, and none of the five can be left out.
"""

import os
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "six-bugs"))
from protocol import array, integer, serve, string, tool  # noqa: E402

TABLE = [None] * 4
LOCK = threading.Lock()
ITEM = string("What to put in.", minLength=1, maxLength=40)
COUNT = {"count": integer("How many items there are.", 0)}


def items():
    return [entry for entry in TABLE if entry is not None]


@tool("Puts `item` into the basket.", {"item": ITEM}, COUNT, reads=False)
def add_item(item):
    with LOCK:
        try:
            # The bug: the table has four places, and nobody asks whether one is free.
            TABLE[len(items())] = item
        except IndexError:
            print("fatal: no place is free in the table of the basket", file=sys.stderr, flush=True)
            os._exit(70)
        return {"count": len(items())}


@tool("Shows what is in the basket.", {}, {"items": array("The items, in order.", ITEM)})
def show_basket():
    with LOCK:
        return {"items": items()}


@tool("Orders what is in the basket, and begins a new one.", {}, COUNT, reads=False)
def checkout():
    with LOCK:
        count = len(items())
        TABLE[:] = [None] * len(TABLE)
        return {"count": count}


if __name__ == "__main__":
    serve("fifth-call")
