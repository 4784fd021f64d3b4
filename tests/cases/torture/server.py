"""A server that repeats texts, until many calls were made."""

import json
import sys
import time

HOW = sys.argv[1]
REPEAT = {
    "name": "repeat",
    "description": "Returns a text.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"readOnlyHint": True},
}
calls = 0


def call(text):
    global calls
    calls += 1
    if HOW == "slow":
        time.sleep(0.3)
    elif calls > 12:
        if HOW == "end":
            sys.exit(3)
        while HOW == "hang":
            time.sleep(60)
        while HOW == "flood":
            sys.stdout.write("x" * 65536)
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        about = {"name": "repeats", "version": "1.0.0"}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        answer["result"] = {"tools": [REPEAT]}
    elif method == "tools/call":
        answer["result"] = call(params["arguments"]["text"])
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
