"""Files of projects, which have to be registered first; it ends where `limit` is 0."""

import os
import sys

sys.dont_write_bytecode = True
from little import Refused, Server, text  # noqa: E402

projects = set()


def tool(name, description, /, *required, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema}


TEXT = {"type": "string"}
TOOLS = [
    tool("register", "Registers a project.", "name", name=TEXT),
    tool("unregister", "Forgets a project.", "name", name=TEXT),
    tool("files_of", "Lists files.", "project", project=TEXT, limit={"type": "integer", "minimum": 0}),
]
NUMBER = {"type": "integer", "minimum": 1}
TOOLS.append(tool("lines_of", "Shows lines.", "project", project=TEXT, first=NUMBER, last=NUMBER, numbered={"type": "boolean"}, tail=NUMBER))
for reader in TOOLS[2:]:
    reader["annotations"] = {"readOnlyHint": True}


def call(name, arguments):
    project = arguments.get("project" if name in ("files_of", "lines_of") else "name")
    if not isinstance(project, str) or not isinstance(arguments.get("limit", 1), int):
        raise Refused("a name is a text, and a limit a number")
    if name == "register":
        projects.add(project)
    elif project not in projects:
        raise Refused(f"there is no project {project!r}; register it")
    elif name == "unregister":
        projects.remove(project)
    elif arguments.get("limit") == 0:
        os._exit(7)
    return text("a.py")


server = Server(0, "projects")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
