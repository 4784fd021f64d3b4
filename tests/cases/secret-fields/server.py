"""Logs users in: takes a password, and answers with a key that nobody marked as secret."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../servers"))
from little import Server, structured, text, tool  # noqa: E402

NAMES = {"user": {"type": "string"}, "password": {"type": "string", "description": "of the user"}}
KEYS = {
    "type": "object",
    "properties": {"api_key": {"type": "string"}, "role": {"type": "string"}},
    "required": ["api_key", "role"],
}
TOOLS = [tool("login", "Returns a key for a user and a password.", NAMES, ["user", "password"], KEYS)]


def log_in(name, arguments):
    if name != "login":
        raise LookupError(name)
    Server.validate(TOOLS[0]["inputSchema"], arguments)
    answer = structured({"api_key": "ak-93217-from-the-server", "role": "guest", "total_tokens": 4096, "sessionToken": "st-11"})
    return {**answer, "_meta": {"nextPageToken": "page-22222", "of": {"password": {"type": "string"}}}}


server = Server(0, name="keys")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = log_in
server.serve()
