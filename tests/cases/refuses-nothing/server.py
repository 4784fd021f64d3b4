"""A tool without parameters that looks at no arguments, or, with `strict`, refuses what it does not know."""

import json
import sys

SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
TOOL = {"name": "list_searches", "description": "Lists all searches.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        continue
    if method == "initialize":
        about = {"name": "searches", "version": "1.0.0"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}}
    elif method == "tools/list":
        answer = {"result": {"tools": [TOOL]}}
    elif method == "tools/call" and params.get("arguments") and "strict" in sys.argv:
        answer = {"error": {"code": -32602, "message": "list_searches takes no arguments"}}
    elif method == "tools/call":
        answer = {"result": {"content": [{"type": "text", "text": "no searches"}]}}
    else:
        answer = {"error": {"code": -32601, "message": f"there is no method {method}"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
