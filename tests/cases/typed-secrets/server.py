"""Says what it was given wherever a server can: on stderr, in answers, and in its description."""
import json
import os
import sys

TOKEN, MODE = os.environ.get("API_TOKEN", "none"), os.environ.get("MODE", "none")
print(f"starting with {TOKEN} in {MODE}", file=sys.stderr, flush=True)
SCHEMA = {"type": "object", "properties": {"mode": {"type": "string", "enum": ["string"]}}, "required": ["mode"]}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        about = {"name": "teller", "version": "1.0"}
        version = "2025-11-25"
        answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "get_mode", "description": f"in {MODE}", "inputSchema": SCHEMA}]}
    elif message["method"] == "tools/call" and "crash" in sys.argv:
        sys.exit(f"cannot log in with {TOKEN}")
    elif message["method"] == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": f"{TOKEN} in {MODE}"}]}
    else:
        answer["error"] = {"code": -32601, "message": "method not found"}
    print(json.dumps(answer), flush=True)
