"""Rooms in a database, asked in two ways: `query` takes a statement, `find` pastes what it takes into one. `select`
takes a selector in a language of its own."""

import json
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Refused, Server, text  # noqa: E402

rooms = sqlite3.connect(":memory:")
rooms.execute("create table rooms (name text)")
rooms.execute("insert into rooms values ('blue'), ('red')")


def tool(name, description, argument):
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": {"readOnlyHint": True}}


TOOLS = [
    tool("query", "Runs a statement of SQL that only reads.", "sql"),
    tool("find", "Finds rooms.", "name"),
    tool("select", "Selects rooms.", "selector"),
]


def call(name, arguments):
    if name == "select" and "=" not in arguments["selector"]:
        ended = "unterminated quoted string" if "'" in arguments["selector"] else "unexpected end of selector"
        raise Refused(f"invalid selector: 1:9: parse error: {ended}")
    if name == "select":
        return text("[]")
    if name == "query":
        statement = arguments["sql"]
    else:
        statement = f"select name from rooms where name = '{arguments['name']}'"
    try:
        return text(json.dumps(rooms.execute(statement).fetchall()))
    except sqlite3.Error as reason:
        raise Refused(f"sqlite3.OperationalError: {reason}") from reason


server = Server(0, "rooms")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
