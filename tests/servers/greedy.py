#!/usr/bin/env python3
"""A small MCP server (2025-11-25, stdio) that wants all memory or all time: `greedy.py MODE [NUMBER]`.

Everything that it says is legal JSON in lines below the limit. Each mode is one function below, which changes one thing
of the correct server in `little.py` and says in its first line what.
"""

import json
import sys
import time

sys.dont_write_bytecode = True
from little import SUM, TOOLS, Server, text, tool  # noqa: E402

MODES = {}
MEBI = 1 << 20


def mode(change):
    """Registers a mode under its function's name."""
    MODES[change.__name__.replace("_", "-")] = change
    return change


def raw(request_id, result):
    """An answer whose result is JSON that Python need not hold as values."""
    return b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (json.dumps(request_id).encode(), result)


def answers(server, result):
    """Answers every call with the same result, made of bytes."""
    server.reply = lambda request, answer: [raw(answer["id"], result)]


@mode
def dense_answer(server):
    """Answers with NUMBER MiB of small numbers, which parsed take forty times as much."""
    zeros = b"0" + b",0" * (server.number * MEBI // 2)
    answers(server, b'{"content":[],"structuredContent":{"zeros":[%s]}}' % zeros)


@mode
def nested_answer(server):
    """Answers with NUMBER MiB of lists in lists, which parsed take a hundred times as much."""
    lists = b"[0]" + b",[0]" * (server.number * MEBI // 4)
    answers(server, b'{"content":[],"structuredContent":{"lists":[%s]}}' % lists)


@mode
def long_answer(server):
    """Answers with a text of NUMBER MiB."""
    answers(server, b'{"content":[{"type":"text","text":"%s"}]}' % (b"x" * (server.number * MEBI)))


@mode
def table_answer(server):
    """Answers with a table of NUMBER rows, as a database would."""
    rows = [{"id": row, "name": f"user {row}", "mail": f"user{row}@example.com", "active": True} for row in range(server.number)]
    answers(server, json.dumps({**text("see the rows"), "structuredContent": {"rows": rows}}).encode())


@mode
def talks_meanwhile(server):
    """Sends NUMBER thousand small notifications before every answer."""
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": [0] * 200}})
    thousand = "\n".join([note] * 1000).encode()
    server.reply = lambda request, answer: [thousand] * server.number + [answer]


@mode
def growing_pages(server):
    """Every page of tools is longer than the one before, without an end."""

    def list_tools(params):
        page = int(params.get("cursor") or 0)
        entries = [{**TOOLS[0], "name": f"echo_{page}_{entry}"} for entry in range((page + 1) * 100)]
        return {"tools": entries, "nextCursor": str(page + 1)}

    server.list_tools = list_tools


@mode
def growing_cursors(server):
    """Every cursor is longer than the one before by a hundred kilobytes, without an end."""
    server.list_tools = lambda params: {"tools": TOOLS, "nextCursor": params.get("cursor", "") + "c" * 100_000}


@mode
def slow_pages(server):
    """Needs NUMBER milliseconds for every page of tools, of which there is no end."""

    def list_tools(params):
        time.sleep(server.number / 1000)
        page = int(params.get("cursor") or 0)
        return {"tools": [{**TOOLS[0], "name": f"echo_{page}"}], "nextCursor": str(page + 1)}

    server.list_tools = list_tools


@mode
def many_tools(server):
    """Lists NUMBER tools."""
    entries = [*TOOLS, *({**TOOLS[0], "name": f"echo_{entry}"} for entry in range(server.number))]
    server.list_tools = lambda params: {"tools": entries}


def lists(server, properties, required=(), output=None):
    entry = tool("odd", "Returns nothing.", properties, list(required), output)
    server.list_tools = lambda params: {"tools": [entry]}
    server.call_tool = lambda name, arguments: text("nothing")


@mode
def long_minimum(server):
    """A tool wants a text of NUMBER million characters at least."""
    lists(server, {"text": {"type": "string", "minLength": server.number * 1_000_000}}, ["text"])


@mode
def many_minimum(server):
    """A tool wants lists of NUMBER million texts at least."""
    texts = {"type": "array", "items": {"type": "string", "minLength": 3}, "minItems": server.number * 1_000_000}
    lists(server, {"texts": texts}, ["texts"])


@mode
def medium_minimums(server):
    """A tool wants NUMBER texts of a million characters each."""
    names = [f"text_{number}" for number in range(server.number)]
    lists(server, {name: {"type": "string", "minLength": 1_000_000} for name in names}, names)


@mode
def huge_schema(server):
    """A tool has a schema of NUMBER MiB."""
    words = "a word of a description " * 40
    lists(server, {f"option_{number}": {"type": "string", "description": words} for number in range(server.number * 1000)})


@mode
def optional_properties(server):
    """A tool has NUMBER optional properties, each with choices."""
    choices = {"anyOf": [{"type": "string", "pattern": "^[a-z]{3,9}$"}, {"type": "integer", "minimum": 7}, {"type": "null"}]}
    lists(server, {f"option_{number}": choices for number in range(server.number)})


@mode
def costly_output(server):
    """A tool promises an output whose pattern takes for ever to be matched."""
    output = {"type": "object", "properties": {"sum": {"type": "string", "pattern": "^(?=(a+)+$)(a|aa)+$"}}}
    entry = tool("odd", "Returns much.", {}, [], output)
    server.list_tools = lambda params: {"tools": [entry]}
    server.call_tool = lambda name, arguments: {"content": [], "structuredContent": {"sum": "a" * server.number * 1000 + "!"}}


@mode
def rescanned_output(server):
    """A tool promises an output whose pattern looks through the whole text of NUMBER kB from each of its places."""
    output = {"type": "object", "properties": {"sum": {"type": "string", "pattern": "(?=(a*)*c)a"}}}
    entry = tool("odd", "Returns much.", {}, [], output)
    much = {"content": [], "structuredContent": {"sum": "a" * server.number * 1000}}
    server.list_tools = lambda params: {"tools": [entry, TOOLS[0]]}
    server.call_tool = lambda name, arguments: much if name == "odd" else text("hello")


@mode
def slow_start(server):
    """Needs NUMBER seconds to start."""
    time.sleep(server.number)


@mode
def too_deep(server):
    """Answers with lists in lists, NUMBER deep."""
    answers(server, b'{"content":[],"structuredContent":{"deep":%s}}' % (b"[" * server.number + b"]" * server.number))


if __name__ == "__main__":
    server = Server(int(sys.argv[2]) if len(sys.argv) > 2 else 1, name="greedy")
    MODES[sys.argv[1]](server)
    server.serve()
