"""A stock of items with drawn ids: what one call makes, another shows, and a third removes. Its status counts and has a time."""

import json
import sys
import time
import uuid

sys.dont_write_bytecode = True
from little import Refused, Server, text  # noqa: E402

ITEMS = {}
CALLS = [0]
TEXT = {"type": "string"}
BROKEN = "broken" in sys.argv


def tool(name, description, /, *required, reads=True, destroys=False, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    hints = {"readOnlyHint": reads, "destructiveHint": destroys, "openWorldHint": False}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool("status", "Says how busy the stock is."),
    tool("list_items", "Lists all items."),
    tool("create_item", "Adds an item.", "label", reads=False, label=TEXT),
    tool("get_item", "Shows an item.", "item_id", item_id=TEXT),
    tool("delete_item", "Removes an item.", "item_id", reads=False, destroys=True, item_id=TEXT),
]
SCHEMAS = {tool["name"]: tool["inputSchema"] for tool in TOOLS}


def known(key):
    if key not in ITEMS:
        raise Refused(f"no item has the id {key!r}")
    return ITEMS[key]


def call(name, arguments):
    CALLS[0] += 1
    listed = SCHEMAS[name]
    if set(arguments) - set(listed["properties"]) or set(listed["required"]) - set(arguments):
        raise Refused(f"takes {listed['required']}, not {sorted(arguments)}")
    if any(not isinstance(value, str) for value in arguments.values()):
        raise Refused("every argument is a text")
    if name == "status":
        return text(json.dumps({"state": "open", "calls": CALLS[0], "time": time.time()}))
    if name == "list_items":
        return text(json.dumps(list(ITEMS.values())))
    if name == "create_item":
        item = {"id": str(uuid.uuid4()), "label": "" if BROKEN else arguments["label"]}
        ITEMS[item["id"]] = item
        return text(json.dumps(item))
    item = known(arguments["item_id"])
    if name == "delete_item":
        del ITEMS[item["id"]]
        return text("removed")
    return text(json.dumps(item))


server = Server(0, "stock")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
