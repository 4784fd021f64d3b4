"""Lists seven entries in pages: pages.py FAULT, over stdio.

FAULT: `none`; `ignores` the size of a page; `adds` one entry to each page; `beyond`, caps no page that is too long; `caps`, serves
one that is too long with as many as allowed; `once`, too long a page the first time only; `few`, has one entry; `columns`, the
names of columns in another list; `turns`, adds one entry every other time; `zero`, serves all for a size of 0; `untyped`, adds
one entry and describes no parameter; `words`, no lists at all; `refuses` every call; `hangs` or `ends` in a call.
"""

import json
import os
import sys
import time

FAULT = sys.argv[1]
MOST = 5
ENTRIES = [f"entry {number}" for number in range(1 if FAULT == "few" else 7)]
SIZE = {"type": "integer", "minimum": 0 if FAULT == "zero" else 1, "maximum": MOST}


def tool(name, size):
    schema = {"type": "object", "properties": {} if FAULT == "untyped" else {size: SIZE}}
    return {"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}}


CALLS = []


def page(size):
    CALLS.append(size)
    if FAULT == "ignores" or FAULT == "once" and CALLS.count(size) == 1:
        return ENTRIES
    if FAULT == "beyond" and size > MOST:
        return ENTRIES
    if FAULT == "zero" and size == 0:
        return ENTRIES
    is_longer = FAULT in ("adds", "untyped") or FAULT == "turns" and len(CALLS) % 2 == 0
    return ENTRIES[: min(size, MOST) + is_longer]


def call(arguments):
    size = next(iter(arguments.values()), MOST)
    if FAULT == "hangs":
        time.sleep(3600)
    if FAULT == "ends":
        os._exit(3)
    if FAULT == "refuses" or size > MOST and FAULT not in ("beyond", "caps", "untyped"):
        return {"content": [{"type": "text", "text": f"the size must not be more than {MOST}"}], "isError": True}
    found = {"entries": page(size)}
    if FAULT == "columns":
        found = {"columns": ["a", "b", "c"], "rows": found["entries"]}
    text = "\n".join(page(size)) if FAULT == "words" else json.dumps(found)
    return {"content": [{"type": "text", "text": text}]}


def answer(method, params):
    if method == "initialize":
        identity = {"name": "pages", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": identity}
    if method == "tools/list":
        return {"tools": [tool("list_entries", "pageSize"), tool("some_entries", "count"), tool("draw", "amount")]}
    return call(params.get("arguments", {})) if method == "tools/call" else {}


def tell(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        tell({"id": request["id"], "result": answer(request["method"], request.get("params", {}))})
