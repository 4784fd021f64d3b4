"""A stock of items with drawn ids: what one call makes, others show, change and remove. Its status counts and has a time, and
its shelves come in pages."""

import json
import sys
import time
import uuid

sys.dont_write_bytecode = True
from little import Refused, Server, text  # noqa: E402

ITEMS = {}
CALLS = [0]
TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 1, "maximum": 100}
SHELVES = [{"shelf": name, "filled": uuid.uuid4().hex} for name in ("north", "east", "south")]
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
    tool("update_item", "Changes an item.", "item_id", "label", reads=False, item_id=TEXT, label=TEXT),
    tool("list_shelves", "Lists the shelves in pages.", limit=COUNT, offset={**COUNT, "minimum": 0}),
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
    kinds = {"string": str, "integer": int}
    for argument, value in arguments.items():
        schema = listed["properties"][argument]
        if not isinstance(value, kinds[schema["type"]]) or isinstance(value, bool):
            raise Refused(f"`{argument}` must be of the type {schema['type']}")
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            raise Refused(f"`{argument}` must be from {schema['minimum']} to {schema['maximum']}")
    if name == "status":
        return text(json.dumps({"state": "open", "calls": CALLS[0], "time": time.time()}))
    if name == "list_items":
        return text(json.dumps(list(ITEMS.values())))
    if name == "list_shelves":
        start = arguments.get("offset", 0)
        return text(json.dumps({"shelves": SHELVES[start : start + arguments.get("limit", 100)]}))
    if name == "create_item":
        item = {"id": str(uuid.uuid4()), "label": "" if BROKEN else arguments["label"]}
        ITEMS[item["id"]] = item
        return text(json.dumps(item))
    item = known(arguments["item_id"])
    if name == "update_item":
        item["label"] = arguments["label"]
    if name == "delete_item":
        del ITEMS[item["id"]]
        return text("removed")
    return text(json.dumps(item))


server = Server(0, "stock")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
