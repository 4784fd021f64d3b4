#!/usr/bin/env python3
"""A correct MCP server whose tool could take long and reach the web: `far.py FILE` writes down what it is called with.

The lines of the file are the arguments of the calls. A call that waits for more than a second is served at once, so
that whoever reads the file sees it and nobody waits.
"""

import json
import sys

sys.dont_write_bytecode = True
from little import SUM, Refused, Server, structured, tool  # noqa: E402

URL = {"type": "string", "format": "uri"}
DELAY = {"type": "number", "minimum": 0, "examples": [3600]}
TOOLS = [
    tool("fetch", "Fetches `url` after a while.", {"url": URL, "delay_seconds": DELAY}, ["url", "delay_seconds"], SUM),
    tool("visit", "Visits `webhook`.", {"webhook": URL, "count": {"type": "number"}, "wait": DELAY}, ["count"]),
]


def main():
    server = Server(0)
    server.list_tools = lambda params: {"tools": TOOLS}

    def call(name, arguments):
        schema = next((entry["inputSchema"] for entry in TOOLS if entry["name"] == name), None)
        if schema is None:
            raise LookupError(name)
        with open(sys.argv[1], "a", encoding="utf-8") as file:
            file.write(json.dumps(arguments) + "\n")
        if not isinstance(arguments, dict):
            raise Refused("The arguments must be an object.")
        server.validate(schema, arguments)
        return structured({"sum": 1})

    server.call_tool = call
    server.serve()


main()
