"""A correct server that describes its tool in another order at each start."""

import random
import sys

sys.dont_write_bytecode = True
from little import Refused, Server, text  # noqa: E402

FORMATS = {"iso": "2026-01-02T03:04:05Z", "rfc": "Fri, 02 Jan 2026 03:04:05 GMT", "unix": "1767323045"}
NAMES = random.sample(sorted(FORMATS), len(FORMATS))
FORMAT = {"type": "string", "enum": sorted(FORMATS), "description": f"One of {', '.join(NAMES)}."}
TOOL = {
    "name": "get_time",
    "description": f"Tells a time ({'/'.join(NAMES)}).",
    "inputSchema": {"type": "object", "properties": {"format": FORMAT}, "required": ["format"]},
    "annotations": {"readOnlyHint": True},
}


def call(name, arguments):
    if name != TOOL["name"]:
        raise LookupError(name)
    if arguments.get("format") not in FORMATS:
        raise Refused(f"`format` must be one of {', '.join(sorted(FORMATS))}")
    return text(FORMATS[arguments["format"]])


server = Server(0, "unsorted")
server.list_tools = lambda params: {"tools": [TOOL]}
server.call_tool = call
server.serve()
