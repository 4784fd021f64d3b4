"""A server over stdio that speaks 2026-07-28, and with `both` 2025-11-25, too: what names no revision is of the older era,
which does not know `server/discover`. With `one` it only gives the same answer: that of a server which speaks an older
revision and does not list it, so that nobody is accused. With `demands` no call is served before `initialize`, though it
says that it speaks 2026-07-28."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Server  # noqa: E402

PREFIX = "io.modelcontextprotocol/"
server = Server(0)
older = ["2025-11-25"] if sys.argv[1] == "both" else []
legacy = server.answer


def answer(method, params):
    meta = params.get("_meta", {})
    if PREFIX + "protocolVersion" not in meta:
        return legacy(method, params) if older else server.error(-32601, "Method not found")
    if PREFIX + "clientCapabilities" not in meta:
        return server.error(-32602, "`clientCapabilities` is missing")
    if method == "server/discover":
        result = {"supportedVersions": ["2026-07-28", *older], "capabilities": {"tools": {}}}
    elif method == "tools/list":
        result = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}] if sys.argv[1] == "demands" else []}
    elif sys.argv[1] == "demands":
        return server.error(-32600, "initialize is required")
    else:
        return server.error(-32601, "Method not found")
    complete = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    return {"result": {**result, **complete, "_meta": {PREFIX + "serverInfo": server.about}}}


server.answer = answer
server.serve()
