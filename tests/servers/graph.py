"""Keeps nodes of a graph: graph.py FAULT, over stdio. `GRAPH_READ_ONLY` forbids writing.

FAULT: `none`; `argument`, in which `readOnly: false` lifts that; `mode`, in which `mode: "force"` does; `words`, which forbids
it in results that are no errors; `always`,
which does so whatever it was started with; `ignores`, which never does; `needs`, which does not start without it.
"""

import json
import os
import re
import sys

FAULT = sys.argv[1]
READ_ONLY = "GRAPH_READ_ONLY" in os.environ
if FAULT == "needs" and not READ_ONLY:
    sys.exit("GRAPH_READ_ONLY is not set")
NODES = ["alpha"]
QUERY = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "pattern": "^(LIST|ADD [a-z0-9-]+)$", "description": "LIST, or ADD NAME"},
        "readOnly": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["safe", "force"]},
    },
    "required": ["query"],
    "additionalProperties": False,
}
TOOLS = [
    {"name": "query_graph", "inputSchema": QUERY, "annotations": {"readOnlyHint": False, "destructiveHint": False}},
    {"name": "list_nodes", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]


def forbids(arguments):
    if FAULT == "argument" and arguments.get("readOnly") is False:
        return False
    if FAULT == "mode" and arguments.get("mode") == "force":
        return False
    if FAULT == "ignores":
        return False
    return READ_ONLY or FAULT == "always" or arguments.get("readOnly", False)


def call(name, arguments):
    query = arguments.get("query", "LIST")
    if name == "query_graph" and not re.fullmatch(QUERY["properties"]["query"]["pattern"], query):
        return {"content": [{"type": "text", "text": "`query` is LIST or ADD NAME"}], "isError": True}
    if query != "LIST" and forbids(arguments):
        text = "cannot add a node: the server is read-only" if FAULT in ("words", "always") else "nothing is written"
        return {"content": [{"type": "text", "text": text}], "isError": FAULT not in ("words", "always")}
    if query != "LIST":
        NODES.append(query.removeprefix("ADD "))
    return {"content": [{"type": "text", "text": json.dumps(NODES)}]}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    params = request.get("params", {})
    results = {
        "initialize": lambda: {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "graph", "version": "1"},
        },
        "tools/list": lambda: {"tools": TOOLS},
        "tools/call": lambda: call(params["name"], params.get("arguments", {})),
    }
    result = results.get(request["method"], dict)()
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
