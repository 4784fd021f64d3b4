"""Customers and orders in the file that is named first: an order needs a customer, and an invoice an order.

Ids are drawn by chance. In the variant `misprints`, invoices break their output schema.
"""

import json
import os
import sys
import uuid

sys.dont_write_bytecode = True
from little import Refused, Server, structured, text  # noqa: E402

PATH, MISPRINTS = sys.argv[1], sys.argv[2:] == ["misprints"]


def tool(name, description, reads, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": {"readOnlyHint": reads, "destructiveHint": False}}


TEXT = {"type": "string", "minLength": 1}
LINES = {"type": "array", "items": {"type": "object", "properties": {"item": TEXT}, "required": ["item"]}}
INVOICE = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
TOOLS = [
    {**tool("invoice_of", "Shows the invoice of an order.", True, order_id=TEXT), "outputSchema": INVOICE},
    tool("get_customer", "Shows a customer.", True, customer_id=TEXT),
    tool("create_order", "Orders some items for a customer.", False, customer_id=TEXT, lines=LINES),
    tool("create_customer", "Adds a customer, whose name nobody else has.", False, name=TEXT),
    tool("find_items", "Finds items that were ordered.", True, items={"type": "array", "items": TEXT}),
]


def load():
    if os.path.getsize(PATH) == 0:
        return {"customers": {}, "orders": {}}
    with open(PATH, encoding="utf-8") as file:
        return json.load(file)


def save(data):
    with open(PATH, "w", encoding="utf-8") as file:
        json.dump(data, file)


def known(things, number, kind):
    if number not in things:
        raise Refused(f"there is no {kind} with the id `{number}`; `create_{kind}` makes one")
    return things[number]


def check(name, arguments):
    schema = next((tool["inputSchema"] for tool in TOOLS if tool["name"] == name), None)
    if schema is None:
        raise LookupError(name)
    if set(arguments) != set(schema["properties"]):
        raise Refused(f"`{name}` takes {', '.join(schema['properties'])}")
    for member, value in arguments.items():
        if schema["properties"][member]["type"] == "string" and not (isinstance(value, str) and value):
            raise Refused(f"`{member}` must be a text that is not empty")
    lines, items = arguments.get("lines", []), arguments.get("items", [])
    if not isinstance(lines, list) or not isinstance(items, list):
        raise Refused("lists must be lists")
    names = [line.get("item") if isinstance(line, dict) else None for line in lines] + items
    if not all(isinstance(name, str) and name for name in names):
        raise Refused("items must have names")


def call(name, arguments):
    check(name, arguments)
    data = load()
    if name == "create_customer":
        if arguments["name"] in data["customers"].values():
            raise Refused(f"there is a customer `{arguments['name']}` already")
        number = str(uuid.uuid4())
        data["customers"][number] = arguments["name"]
        save(data)
        return text(json.dumps({"customer": {"id": number, "name": arguments["name"]}}))
    if name == "get_customer":
        return text(json.dumps({"name": known(data["customers"], arguments["customer_id"], "customer")}))
    if name == "create_order":
        known(data["customers"], arguments["customer_id"], "customer")
        number = str(uuid.uuid4())
        data["orders"][number] = [line["item"] for line in arguments["lines"]]
        save(data)
        return text(json.dumps({"order_id": number}))
    if name == "invoice_of":
        items = known(data["orders"], arguments["order_id"], "order")
        total = len(items) * 3
        return structured({"total": f"{total} euros" if MISPRINTS else total})
    found = [item for items in data["orders"].values() for item in items if item in arguments["items"]]
    return text(json.dumps({"found": found}))


server = Server(0, "shop")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
