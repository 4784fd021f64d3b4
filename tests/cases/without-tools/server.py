"""A server that offers prompts, or nothing at all, and no tools: server.py WHAT."""

import json
import sys

CAPABILITIES = {"prompts": {"prompts": {}}, "nothing": {}}[sys.argv[1]]
ERRORS = {"parse": (-32700, "Parse error"), "request": (-32600, "Invalid request"), "method": (-32601, "Unknown method")}


def error(kind):
    code, message = ERRORS[kind]
    return {"error": {"code": code, "message": message}}


def answer(method):
    if method == "initialize":
        about = {"name": "quiet", "version": "1.0.0"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": about}}
    if method == "ping":
        return {"result": {}}
    if method == "prompts/list" and CAPABILITIES:
        return {"result": {"prompts": [{"name": "greet", "description": "Greets."}]}}
    return error("method")


def is_request(message):
    is_named = isinstance(message, dict) and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    return is_named and isinstance(message.get("params", {}), dict) and type(message.get("id", 0)) in (int, str)


for line in sys.stdin:
    number = None
    try:
        message = json.loads(line)
    except ValueError:
        said = error("parse")
    else:
        if not is_request(message):
            said = error("request")
        elif "id" not in message:
            continue
        else:
            number, said = message["id"], answer(message["method"])
    print(json.dumps({"jsonrpc": "2.0", "id": number, **said}), flush=True)
