"""A store whose tools say in words that they failed, or, with `sound`, flag it as the specification asks."""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Server, text  # noqa: E402

IS_SOUND = "sound" in sys.argv
USERS = {"u1": "Ann"}


def tool(name, properties, required):
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name, "description": "Returns something.", "inputSchema": schema, "annotations": {"readOnlyHint": True}}


TEXT = {"type": "string"}
TOOLS = [
    tool("get_user", {"id": TEXT}, ["id"]),
    tool("get_table", {"name": TEXT}, ["name"]),
    tool("get_job", {"id": TEXT}, ["id"]),
]


def answer(name, args):
    properties = next(tool for tool in TOOLS if tool["name"] == name)["inputSchema"]["properties"]
    if set(args) != set(properties) or not all(isinstance(value, str) for value in args.values()):
        return failed({"error": f"{name} takes the arguments {', '.join(properties)}, each of them a text"})
    if name == "get_user" and args["id"] in USERS:
        return {"name": USERS[args["id"]]}, False
    if name == "get_user":
        return failed({"status": "error", "message": f"there is no user with the id {args['id']}"})
    if name == "get_table":
        return failed({"success": False, "error": f"there is no table {args['name']}", "errorType": "NotFound"})
    # The call was served: a job is what failed.
    return {"id": args["id"], "status": "failed", "error": "the disk is full"}, False


def failed(report):
    return report, IS_SOUND or "takes the arguments" in report.get("error", "")


def call(name, args):
    if not any(tool["name"] == name for tool in TOOLS):
        raise LookupError(name)
    report, is_error = answer(name, args)
    return {**text(json.dumps(report)), "isError": is_error}


server = Server(0, "store")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
