"""Hotels and notes; with `leaky`, values are pasted into statements, and paths lead anywhere."""

import json
import sys

IS_LEAKY = "leaky" in sys.argv
TEXT = {"type": "string"}
NOTE = {"type": "object", "properties": {"file_path": {"type": "string", "examples": ["today.md"]}}, "required": ["file_path"]}


def tool(name, about, properties, **hints):
    schema = {"type": "object", "properties": properties, "required": list(properties), "$defs": {"Note": NOTE}}
    return {"name": name, "description": about, "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool("search_hotels", "Search hotels by name.", {"name": TEXT}, readOnlyHint=False, destructiveHint=True),
    tool("book_hotel", "Books a hotel.", {"name": TEXT}, readOnlyHint=False, destructiveHint=True),
    tool("read_notes", "Reads notes.", {"files": {"type": "array", "items": {"$ref": "#/$defs/Note"}}}, readOnlyHint=True),
    tool("read_lines", "Reads lines.", {"paths": {"type": "array", "items": TEXT, "examples": [["today.md"]]}}, readOnlyHint=True),
]


def call(name, args):
    if name == "search_hotels" and IS_LEAKY and "'" in args["name"]:
        return "near \"'\": syntax error", True
    if name in ("search_hotels", "book_hotel"):
        return "Ritz", False
    paths = [note["file_path"] for note in args.get("files", [])] + args.get("paths", [])
    if IS_LEAKY and any(path.endswith("/etc/passwd") for path in paths):
        return "root:x:0:0:root:/root:/bin/sh", False
    is_known = all(path == "today.md" for path in paths)
    return ("buy milk", False) if is_known else ("there is no note of that name", True)


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        continue
    if method == "initialize":
        about = {"name": "hotels", "version": "1.0.0"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}}
    elif method == "tools/list":
        answer = {"result": {"tools": TOOLS}}
    elif method == "tools/call":
        text, is_error = call(params["name"], params.get("arguments", {}))
        answer = {"result": {"content": [{"type": "text", "text": text}], "isError": is_error}}
    else:
        answer = {"error": {"code": -32601, "message": f"there is no method {method}"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
