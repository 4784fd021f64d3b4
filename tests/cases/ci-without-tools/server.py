"""server.py WHAT: a server that offers `prompts` alone, or `nothing` at all."""
import json
import sys

WHAT = sys.argv[1]
ARGUMENT = {"name": "who", "description": "A name", "required": True}
UNKNOWN = {"error": {"code": -32601, "message": "unknown method"}}


def greet(params):
    arguments = params.get("arguments") or {}
    if params.get("name") != "greet" or not isinstance(arguments, dict) or not isinstance(arguments.get("who"), str):
        return {"error": {"code": -32602, "message": "the prompt `greet` takes the argument `who`"}}
    return {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello " + arguments["who"]}}]}}


def answer(method, params):
    if method == "initialize":
        capabilities = {"prompts": {}} if WHAT == "prompts" else {}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": capabilities,
                           "serverInfo": {"name": WHAT, "version": "1"}}}
    if method == "ping":
        return {"result": {}}
    if method == "prompts/list" and WHAT == "prompts":
        return {"result": {"prompts": [{"name": "greet", "description": "Greets somebody", "arguments": [ARGUMENT]}]}}
    if method == "prompts/get" and WHAT == "prompts":
        return greet(params)
    return UNKNOWN


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params", {}))}), flush=True)
