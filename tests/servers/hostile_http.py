#!/usr/bin/env python3
"""An MCP server over HTTP that misbehaves in exactly one way: `hostile_http.py MODE --port N`.

Without a mode, or with `correct`, it does everything right: that is `little_http.py`. Every other mode is one function in
`hostile_answers.py` or `hostile_streams.py`, and says in its first line what it changes. Where the fault is in an answer,
it strikes the second call, or with `--at start` every request. Needs nothing but Python.
"""

import argparse
import sys

sys.dont_write_bytecode = True
import hostile_answers  # noqa: E402, F401
import hostile_streams  # noqa: E402, F401
from http_modes import MODES  # noqa: E402
from little_http import HttpServer, end_with_caller, secure  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description="An MCP server over HTTP that misbehaves in exactly one way.")
    parser.add_argument("mode", nargs="?", default="correct", choices=MODES, metavar="MODE")
    parser.add_argument("--port", type=int)
    parser.add_argument("--era", choices=["legacy", "modern", "both"], default="both")
    parser.add_argument("--at", choices=["start", "call"], default="call", help="where a fault of an answer strikes")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"))
    parser.add_argument("--modes", action="store_true", help="list the modes and what they do")
    return parser.parse_args()


def main():
    given = arguments()
    if given.modes:
        for name, change in MODES.items():
            print(name, change.__doc__.splitlines()[0], sep="\t")
        return
    server = HttpServer(given.era, given.at)
    end_with_caller()
    MODES[given.mode](server)
    server.listen(given.port, secure(*given.tls) if given.tls else None)


if __name__ == "__main__":
    main()
