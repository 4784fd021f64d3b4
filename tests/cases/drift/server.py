"""A shop whose second edition has changed in every way that callers notice, and in some that they do not."""
import json
import os
import sys
import time

EDITION = sys.argv[1]
TEXT, COUNT = {"type": "string"}, {"type": "integer"}


def tool(name, properties, required, **more):
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": f"does {name}", "inputSchema": schema, **more}


READS = {"annotations": {"readOnlyHint": True}}
FOUND = {"type": "object", "properties": {"hits": COUNT, "at": TEXT}, "required": ["hits", "at"]}
FIRST = [
    tool("find", {"query": TEXT, "limit": {"type": "integer", "minimum": 0}}, ["query"], outputSchema=FOUND, **READS),
    tool("price", {"item": TEXT}, ["item"], **READS),
    tool("delete_item", {"item": TEXT}, ["item"]),
    tool("whoami", {}, [], **READS),
]
NULLABLE = {"type": "object", "properties": {"hits": {"anyOf": [COUNT, {"type": "null"}]}, "at": TEXT}, "required": ["hits"]}
SECOND = [
    tool("find", {"query": TEXT, "limit": {"type": "integer", "minimum": 1}, "page": COUNT}, ["query"], outputSchema=NULLABLE),
    tool("cost", {"item": TEXT}, ["item"], **READS),
    tool("delete_item", {"item": TEXT}, ["item"], title="Delete"),
    tool("whoami", {}, [], **READS),
]


def call(name):
    if name == "find":
        found = {"hits": 3 if EDITION == "first" else None, "at": time.time_ns()}
        return {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}
    if name == "whoami":
        return {"content": [{"type": "text", "text": f"token hunter2-is-secret, {EDITION} edition, in {os.getcwd()}"}]}
    return {"content": [{"type": "text", "text": "12 crowns"}]}


for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        version = version if version <= "2025-11-25" else "2025-11-25"
        about = {"name": "shop", "version": "1.0" if EDITION == "first" else "2.0"}
        answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        answer["result"] = {"tools": FIRST if EDITION == "first" else SECOND}
    elif method == "tools/call":
        answer["result"] = call(message["params"]["name"])
    else:
        answer["error"] = {"code": -32601, "message": "method not found"}
    print(json.dumps(answer), flush=True)
