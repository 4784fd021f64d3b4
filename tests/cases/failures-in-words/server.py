"""A store whose tools say in words that they failed, or, with `sound`, flag it as the specification asks."""

import json
import sys

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


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        continue
    if method == "initialize":
        about = {"name": "store", "version": "1.0.0"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        report, is_error = answer(params["name"], params.get("arguments", {}))
        result = {"content": [{"type": "text", "text": json.dumps(report)}], "isError": is_error}
    elif method == "ping":
        result = {}
    else:
        error = {"code": -32601, "message": f"there is no method {method}"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
