"""One tool, whose answer and whose health are what the command line says."""
import json
import sys

ANSWER = sys.argv[1]
SCHEMA = {"type": "object", "properties": {}}
READS = {"readOnlyHint": True}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        about = {"name": "one", "version": "1.0"}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "look", "description": "looks", "inputSchema": SCHEMA, "annotations": READS}]}
    elif message["method"] == "tools/call" and ANSWER == "crash":
        sys.exit("out of order")
    elif message["method"] == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": ANSWER}], "isError": ANSWER == "refused"}
    else:
        answer["error"] = {"code": -32601, "message": "method not found"}
    print(json.dumps(answer), flush=True)
