"""Answers one method with requests for input, again and again (2026-07-28)."""

import json
import sys

METHOD, QUESTION = sys.argv[1], sys.argv[2]
QUESTIONS = {
    "nothing": {},
    "name": {"who": {"method": "elicitation/create", "params": {
        "mode": "form", "message": "Who are you?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}}},
}
TOOL = {"name": "look", "description": "Looks around", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


def answer(message):
    method = message["method"]
    if method == METHOD:
        return {"resultType": "input_required", "inputRequests": QUESTIONS[QUESTION], "requestState": "again"}
    fresh = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if method == "server/discover":
        return fresh | {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "instructions": "",
                        "serverInfo": {"name": "asking", "version": "1"}}
    if method == "tools/list":
        return fresh | {"tools": [TOOL]}
    if method == "tools/call":
        return {"resultType": "complete", "content": [{"type": "text", "text": "a room"}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message)
    reply = {"result": result} if result else {"error": {"code": -32601, "message": "unknown method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
