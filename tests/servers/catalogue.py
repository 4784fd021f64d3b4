"""A catalogue whose tools want what others show: ids, names, files, words that only a refusal names.

Given a folder, it reads files there. With `--log`, it writes down which tools were called.
"""

import json
import os
import sys

sys.dont_write_bytecode = True
from little import Refused, Server, text  # noqa: E402

PROJECTS = [{"id": "p-41", "name": "alpha", "owner": "ann"}, {"id": "p-42", "name": "beta", "owner": "bob"}]
TASKS = {"p-41": [{"id": 7, "title": "write"}], "p-42": []}
FOLDER = next((word for word in sys.argv[1:] if not word.startswith("-")), ".")
LOG = "--log" in sys.argv
TEXT = {"type": "string"}


def tool(name, description, /, *required, reads=True, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": {"readOnlyHint": reads},
    }


TOOLS = [
    tool("get_task", "Shows a task.", "project_id", "taskId", project_id=TEXT, taskId={"type": "integer"}),
    tool("list_tasks", "Lists the tasks of a project.", "project_id", project_id=TEXT),
    tool("list_projects", "Lists all projects."),
    tool("search_by_owner", "Finds projects.", "owner", "name", owner=TEXT, name=TEXT),
    tool("read_file", "Reads a file.", "path", path=TEXT),
    tool("report", "Reports on everything.", "format", format=TEXT),
    tool("either", "Takes one of two.", id=TEXT, name=TEXT),
    tool("decode", "Decodes a ticket.", "ticket", ticket=TEXT),
    tool("fetch_remote", "Reads a project elsewhere.", "remote", remote=TEXT),
    tool("rename_project", "Renames a project.", "id", "name", reads=False, id=TEXT, name=TEXT),
]


def known_project(id):
    found = next((project for project in PROJECTS if project["id"] == id), None)
    if found is None:
        raise Refused(f"no project has the id {id!r}")
    return found


def call(name, arguments):
    if LOG:
        with open("called.log", "a") as log:
            log.write(f"{name}\n")
    listed = next(tool for tool in TOOLS if tool["name"] == name)["inputSchema"]
    for key in listed["required"]:
        if key not in arguments:
            raise Refused(f"{key} is missing")
    for key, value in arguments.items():
        kind = listed["properties"].get(key, {}).get("type")
        if kind == "string" and not isinstance(value, str) or kind == "integer" and type(value) is not int:
            raise Refused(f"{key} has the wrong type")
    if name == "list_projects":
        return text(json.dumps(PROJECTS))
    if name == "list_tasks":
        return text(json.dumps(TASKS[known_project(arguments["project_id"])["id"]]))
    if name == "get_task":
        tasks = TASKS[known_project(arguments["project_id"])["id"]]
        found = [task for task in tasks if task["id"] == arguments["taskId"]]
        if not found:
            raise Refused(f"there is no task {arguments['taskId']}")
        return text(json.dumps(found[0]))
    if name == "search_by_owner":
        wanted = (arguments["owner"], arguments["name"])
        if all((project["owner"], project["name"]) != wanted for project in PROJECTS):
            raise Refused("nothing is found")
        return text("found")
    if name == "read_file":
        path = os.path.join(FOLDER, arguments["path"])
        if not os.path.isfile(path):
            raise Refused(f"there is no file {arguments['path']!r}")
        return text(open(path).read())
    if name == "report":
        if arguments["format"] not in ("brief", "full"):
            raise Refused("format must be one of: brief, full")
        return text("all is well")
    if name == "either":
        if ("id" in arguments) == ("name" in arguments):
            raise Refused("give id, or give name" if not arguments else "not both of them")
        if "name" in arguments and arguments["name"] not in ("alpha", "beta"):
            raise Refused("unknown")
        if "id" in arguments:
            known_project(arguments["id"])
        return text("one")
    if name == "decode" or name == "fetch_remote":
        raise Refused("it is not valid")
    return text("renamed")


server = Server(0, "catalogue")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
