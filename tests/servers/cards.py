"""Cards, by tools whose names say little; with `keeps`, a card that was binned is still there."""

import sys

sys.dont_write_bytecode = True
from little import Refused, Server, text  # noqa: E402

TEXT = {"type": "string"}


def tool(name, about, hints, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": about, "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool("put_card", "Pins a card.", {"readOnlyHint": False, "destructiveHint": False}, label=TEXT),
    tool("show_card", "Shows a card.", {"readOnlyHint": True}, number=TEXT),
    tool("bin_card", "Bins a card.", {"destructiveHint": True}, card=TEXT),
]
cards = {}


def call(name, args):
    if name == "put_card":
        number = f"c{len(cards) + 1}"
        cards[number] = {"number": number, "label": args["label"]}
        return {**text(number), "structuredContent": cards[number]}
    number = args.get("number", args.get("card"))
    if number not in cards:
        raise Refused(f"there is no card {number}")
    card = cards[number]
    if name == "bin_card" and "keeps" not in sys.argv:
        cards[number] = None
    if card is None:
        raise Refused(f"the card {number} is gone")
    return {**text(card["label"]), "structuredContent": card}


server = Server(0, "cards")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
