"""Tickets over stdio, each with a number that nobody can guess; the bugs are those that the file `bugs` names.

`shared-number` gives every ticket the same number, `forgets` shows another title than the one that was given, `undying` still
shows what was closed, `rerolls` draws anew where a seed is to give the same again, `ends` exits where a ticket is shown, `constant` draws the
same in every process.
"""

import os
import secrets
import sys

sys.dont_write_bytecode = True
from little import Refused, Server, text  # noqa: E402

with open("bugs") as file:
    BUGS = file.read().split()
TEXT = {"type": "string"}


def tool(name, about, hints, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": about, "inputSchema": schema, "annotations": hints}


WRITES, READS = {"readOnlyHint": False, "destructiveHint": False}, {"readOnlyHint": True}
TOOLS = [
    tool("open_ticket", "Opens a ticket.", WRITES, title=TEXT),
    tool("show_ticket", "Shows a ticket.", READS, number=TEXT),
    tool("close_ticket", "Closes a ticket.", WRITES, number=TEXT),
    tool("roll", "The same numbers for the same seed, others in every run.", READS, seed=TEXT),
]


def draw():
    return "t-000000" if "constant" in BUGS else "t-" + secrets.token_hex(3)


FIRST = draw()
tickets, rolls = {}, {}


def call(name, args):
    if name == "roll":
        if "rerolls" in BUGS:
            rolls.clear()
        rolled = rolls.setdefault(args["seed"], draw())
        return {**text(rolled), "structuredContent": {"rolled": rolled}}
    if name == "open_ticket":
        number = FIRST if "shared-number" in BUGS else draw()
        tickets[number] = {"number": number, "title": args["title"]}
        return {**text(number), "structuredContent": tickets[number]}
    if name not in ("show_ticket", "close_ticket"):
        raise LookupError(name)
    if args["number"] not in tickets:
        raise Refused(f"there is no ticket {args['number']}")
    ticket = tickets[args["number"]]
    if name == "close_ticket":
        if "undying" not in BUGS:
            del tickets[args["number"]]
        return text("closed")
    if "ends" in BUGS:
        os._exit(3)
    if "forgets" in BUGS:
        ticket = {**ticket, "title": "untitled"}
    return {**text(ticket["title"]), "structuredContent": ticket}


server = Server(0, "tickets")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
