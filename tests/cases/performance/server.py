"""A server whose tools are quick, slow, or unwilling."""

import json
import sys
import time

LIMIT = 20
calls = {}


def tool(name, **more):
    return {"name": name, "description": f"is {name}", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}, **more}


TOOLS = [tool("quick"), tool("slow"), tool("limited"), tool("broken"), tool("writes", annotations={})]


def call(name):
    calls[name] = calls.get(name, 0) + 1
    if name == "slow":
        time.sleep(0.02)
    if name == "broken" or (name == "limited" and calls[name] > LIMIT):
        return {"content": [{"type": "text", "text": "try again later"}], "isError": True}
    return {"content": [{"type": "text", "text": "done"}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        about = {"name": "paces", "version": "1.0.0"}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif method == "tools/call":
        answer["result"] = call(params["name"])
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
