"""One tool, whose answer and whose health are what the command line says."""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Server, text  # noqa: E402

ANSWER = sys.argv[1]
SCHEMA = {"type": "object", "properties": {}}
TOOLS[:] = [{"name": "look", "description": "looks", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}]


def call(name, arguments):
    if ANSWER == "crash":
        sys.exit("out of order")
    return {**text(ANSWER), "isError": ANSWER == "refused"}


server = Server(0, "one", "1.0")
server.call_tool = call
server.serve()
