"""A server that serves some of its tools only. The words after its name say what is wrong with it."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Server, structured, text  # noqa: E402

WRONG = sys.argv[1:]
TEXT = {"type": "string"}


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": f"Returns what is asked of {name}.", "inputSchema": schema,
            "annotations": {"readOnlyHint": True}}


TOOLS = [tool("echo", text=TEXT), tool("get_user", id=TEXT), tool("list_users"), tool("get_order", id=TEXT)]
TOOLS[3]["outputSchema"] = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
calls = {}


def refused(words):
    return {**text(words), "isError": True}


def called(name, arguments):
    schema = next((tool["inputSchema"] for tool in TOOLS if tool["name"] == name), None)
    if schema is None:
        raise LookupError(name)
    for key in schema["required"]:
        if not isinstance(arguments.get(key), str):
            return refused("'list' object has no attribute 'strip'" if "breaks" in WRONG else f"`{key}` must be a text")
    calls[name] = calls.get(name, 0) + 1
    if name == "echo":
        return text(arguments["text"])
    if "down" in WRONG or ("tires" in WRONG and name == "get_user" and calls[name] > 1):
        return refused("the database is down")
    if "wavers" in WRONG and name == "get_user" and calls[name] == 2:
        return refused("the database is down")
    if "limits" in WRONG and name == "get_user" and calls[name] > 1:
        return refused("too many requests")
    if name == "get_order":
        if "misfits" in WRONG:
            return refused("Output validation error: 'price' is a required property")
        return structured({"price": 1})
    return text("Ann")


server = Server(0, "serving")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = called
server.serve()
