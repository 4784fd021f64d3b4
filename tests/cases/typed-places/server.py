"""Tools of which none may be called without leave, or one whose answer is no base64."""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Server  # noqa: E402

SCHEMA = {"type": "object", "properties": {}}
TOOLS[:] = [{"name": "show" if "show" in sys.argv else "drop_all", "description": "does it", "inputSchema": SCHEMA}]


def call(name, arguments):
    if name != "show":
        raise LookupError(name)
    return {"content": [{"type": "image", "data": "no base64", "mimeType": "image/png"}]}


server = Server(0, "drawer", "1.0")
server.call_tool = call
server.serve()
