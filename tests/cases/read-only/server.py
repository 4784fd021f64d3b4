"""A server with tools that read, that write, and that say nothing of either; it writes down what it was asked to do."""
import json
import sys

TEXT = {"type": "string"}


def tool(name, description, **more):
    schema = {"type": "object", "properties": {"sql": TEXT}, "required": ["sql"]}
    return {"name": name, "description": description, "inputSchema": schema, **more}


TOOLS = [
    tool("get_rows", "Returns rows."),
    tool("query", "Execute an INSERT, UPDATE, or DELETE query"),
    tool("add_row", "Adds a row.", annotations={"readOnlyHint": False, "destructiveHint": False}),
    tool("drop_table", "Drops a table."),
]
called = set()


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "rows", "version": "1.0.0"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call" and any(tool["name"] == params.get("name") for tool in TOOLS):
        with open("called.log", "a", encoding="utf-8") as log:
            log.write(params["name"] + "\n")
        arguments = params.get("arguments", {})
        good = isinstance(arguments.get("sql"), str)
        return {"result": {"content": [{"type": "text", "text": "1 row" if good else "`sql` must be a text"}], "isError": not good}}
    return {"error": {"code": -32602, "message": "there is no such thing"}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)
