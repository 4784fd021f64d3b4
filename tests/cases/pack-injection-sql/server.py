"""Rooms in a database, asked in two ways: `query` takes a statement, `find` pastes what it takes into one."""

import json
import sqlite3
import sys

rooms = sqlite3.connect(":memory:")
rooms.execute("create table rooms (name text)")


def tool(name, description, argument):
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": {"readOnlyHint": True}}


TOOLS = [tool("query", "Runs a statement of SQL that only reads.", "sql"), tool("find", "Finds rooms.", "name")]


def call(name, arguments):
    if name == "query":
        statement = arguments["sql"]
    else:
        statement = f"select name from rooms where name = '{arguments['name']}'"
    try:
        return {"content": [{"type": "text", "text": json.dumps(rooms.execute(statement).fetchall())}]}
    except sqlite3.Error as reason:
        return {"isError": True, "content": [{"type": "text", "text": f"sqlite3.OperationalError: {reason}"}]}


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    result = {}
    if "id" not in message:
        continue
    if method == "initialize":
        server = {"name": "rooms", "version": "1.0.0"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        result = call(message["params"]["name"], message["params"]["arguments"])
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
