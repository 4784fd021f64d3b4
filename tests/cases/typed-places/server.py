"""Tools of which none may be called without leave, or one whose answer is no base64."""
import json
import sys

SCHEMA = {"type": "object", "properties": {}}
TOOLS = [{"name": "show" if "show" in sys.argv else "drop_all", "description": "does it", "inputSchema": SCHEMA}]

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        about = {"name": "drawer", "version": "1.0"}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif message["method"] == "ping":
        answer["result"] = {}
    elif message["method"] == "tools/call" and message["params"]["name"] == "show":
        answer["result"] = {"content": [{"type": "image", "data": "no base64", "mimeType": "image/png"}]}
    elif message["method"] == "tools/call":
        answer["error"] = {"code": -32602, "message": "there is no such tool; call `tools/list`"}
    else:
        answer["error"] = {"code": -32601, "message": "method not found"}
    print(json.dumps(answer), flush=True)
