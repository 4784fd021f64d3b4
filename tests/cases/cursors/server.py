"""A server that takes every cursor for the beginning, on all four lists."""
import json
import sys

SCHEMA = {"type": "object", "properties": {}}
LISTS = {
    "tools/list": {"tools": [{"name": "now", "description": "Returns the time.", "inputSchema": SCHEMA}]},
    "prompts/list": {"prompts": [{"name": "greet"}]},
    "resources/list": {"resources": [{"uri": "test://one", "name": "one"}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "test://{id}", "name": "any"}]},
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "there is no such method"}}
    if message["method"] == "initialize":
        capabilities = {"tools": {}, "prompts": {}, "resources": {}}
        info = {"name": "pages", "version": "1.0.0"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}}
    elif message["method"] == "ping":
        answer = {"result": {}}
    elif message["method"] in LISTS:
        answer = {"result": LISTS[message["method"]]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
