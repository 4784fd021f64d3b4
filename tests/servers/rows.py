"""A server with tools that read, that write, and that say nothing of either; it writes down what it was asked to do."""

import sys

sys.dont_write_bytecode = True
from little import Refused, Server, text  # noqa: E402

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


def call(name, arguments):
    if not any(tool["name"] == name for tool in TOOLS):
        raise LookupError(name)
    with open("called.log", "a", encoding="utf-8") as log:
        log.write(name + "\n")
    if not isinstance(arguments.get("sql"), str):
        raise Refused("`sql` must be a text")
    return text("1 row")


server = Server(0, "rows")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
