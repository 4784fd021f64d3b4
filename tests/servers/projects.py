"""Files of projects, which have to be registered first; it ends where `limit` is 0."""

import json
import os
import sys

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


def refusal(text):
    return {"isError": True, "content": [{"type": "text", "text": text}]}


def call(name, arguments):
    project = arguments.get("project" if name in ("files_of", "lines_of") else "name")
    if not isinstance(project, str) or not isinstance(arguments.get("limit", 1), int):
        return refusal("a name is a text, and a limit a number")
    if name == "register":
        projects.add(project)
    elif project not in projects:
        return refusal(f"there is no project {project!r}; register it")
    elif name == "unregister":
        projects.remove(project)
    elif arguments.get("limit") == 0:
        os._exit(7)
    return {"content": [{"type": "text", "text": "a.py"}]}


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    result = {}
    if "id" not in message:
        continue
    if method == "initialize":
        server = {"name": "projects", "version": "1.0.0"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        result = call(message["params"]["name"], message["params"].get("arguments", {}))
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
