"""Says what it was given wherever a server can: on stderr, in answers, and in its description."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "../../servers")
from little import TOOLS, Server, text  # noqa: E402

TOKEN, MODE = os.environ.get("API_TOKEN", "none"), os.environ.get("MODE", "none")
print(f"starting with {TOKEN} in {MODE}", file=sys.stderr, flush=True)
SCHEMA = {"type": "object", "properties": {"mode": {"type": "string", "enum": ["string"]}}, "required": ["mode"]}
TOOLS[:] = [{"name": "get_mode", "description": f"in {MODE}", "inputSchema": SCHEMA}]


def call(name, arguments):
    if "crash" in sys.argv:
        sys.exit(f"cannot log in with {TOKEN}")
    return text(f"{TOKEN} in {MODE}")


server = Server(0, "teller", "1.0")
server.call_tool = call
server.serve()
