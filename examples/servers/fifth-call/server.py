#!/usr/bin/env python3
"""A basket as an MCP server over stdio (2025-11-25) with one bug: the fifth `add_item` without a `checkout` ends it.

No single call shows it, and none of the five can be left out.
"""

import json
import sys

TABLE = [None] * 4
ITEM = {"type": "string", "description": "What to put in.", "minLength": 1, "maxLength": 40}
COUNT = {"type": "integer", "description": "How many items there are.", "minimum": 0}
ITEMS = {"type": "array", "description": "What is in the basket.", "items": {"type": "string"}}


def tool(name, about, inputs, outputs, reads):
    def closed(properties):
        return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}

    hints = {"readOnlyHint": reads, "destructiveHint": False, "idempotentHint": reads, "openWorldHint": False}
    schemas = {"inputSchema": closed(inputs), "outputSchema": closed(outputs)}
    return {"name": name, "description": about, **schemas, "annotations": hints}


TOOLS = [
    tool("add_item", "Puts `item` into the basket.", {"item": ITEM}, {"count": COUNT}, False),
    tool("show_basket", "Shows what is in the basket.", {}, {"items": ITEMS}, True),
    tool("checkout", "Orders what is in the basket, and begins a new one.", {}, {"count": COUNT}, False),
]


def run(name, item=None):
    items = [entry for entry in TABLE if entry is not None]
    if name == "show_basket":
        return {"items": items}
    if name == "checkout":
        TABLE[:] = [None] * len(TABLE)
        return {"count": len(items)}
    # The bug: the table has four places, and nobody asks whether one is free.
    TABLE[len(items)] = item
    return {"count": len(items) + 1}


def call(name, arguments):
    if name not in [entry["name"] for entry in TOOLS]:
        return {"error": {"code": -32602, "message": f"there is no tool `{name}`"}}
    if set(arguments) != ({"item"} if name == "add_item" else set()):
        return refusal(f"{name}: `item` is what `add_item` needs, and other tools need nothing")
    if arguments and not (isinstance(arguments["item"], str) and 1 <= len(arguments["item"]) <= 40):
        return refusal("add_item: `item` must be a text of 1 to 40 characters")
    value = run(name, **arguments)
    return {"result": {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}}


def refusal(words):
    return {"result": {"content": [{"type": "text", "text": words}], "isError": True}}


def answer(method, params):
    if method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "fifth-call", "version": "1.0.0"}}
        return {"result": {"protocolVersion": "2025-11-25", **about}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return call(params.get("name"), params.get("arguments", {}))
    return {"error": {"code": -32601, "message": f"there is no method `{method}`"}}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            given = answer(message["method"], message.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **given}), flush=True)


if __name__ == "__main__":
    try:
        main()
    except IndexError as error:
        print(f"fatal: the basket's table is full ({error})", file=sys.stderr)
        sys.exit(70)
