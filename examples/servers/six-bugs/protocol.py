"""As much of MCP over stdio as a small server needs: tools, and who may ask for them. There is no bug in here.

Sessions up to 2025-11-25, and 2026-07-28 without sessions.
"""

import json
import os
import sys
import threading
import time
import traceback

SESSIONS, STATELESS = ["2025-11-25", "2025-06-18", "2024-11-05"], "2026-07-28"
META = "io.modelcontextprotocol/"
INFO = {"version": "1.0.0"}
TOOLS = {}
OUTPUT = threading.Lock()


class Refused(Exception):
    """A JSON-RPC error: code, message, and data if there are any."""


def closed(properties):
    """The schema of an object with these properties and no others; those with a default may be left out."""
    required = [name for name, schema in properties.items() if "default" not in schema]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def integer(about, least, most=None, **more):
    return {"type": "integer", "description": about, "minimum": least, **({"maximum": most} if most else {}), **more}


def string(about, **more):
    return {"type": "string", "description": about, **more}


def array(about, items, **more):
    return {"type": "array", "description": about, "items": items, **more}


def complaint(value, schema, at):
    """What is wrong with a value, or nothing; knows the keywords that are used here."""
    kind = {"object": dict, "array": list, "string": str, "integer": int}[schema["type"]]
    if not isinstance(value, kind) or isinstance(value, bool):
        return f"`{at}` must be of type {schema['type']}"
    if value not in schema.get("enum", [value]):
        return f"`{at}` must be one of {', '.join(schema['enum'])}"
    size, unit = (value, "") if kind is int else (len(value), " long")
    least = schema.get("minimum", schema.get("minLength", schema.get("minItems", 0)))
    most = schema.get("maximum", schema.get("maxLength", schema.get("maxItems", size)))
    if not least <= size <= most:
        return f"`{at}` must be at least {least} and at most {most}{unit}"
    parts = []
    if kind is list:
        parts = [complaint(item, schema["items"], f"{at}[{index}]") for index, item in enumerate(value)]
    if kind is dict:
        parts = [f"`{at}` lacks `{name}`" for name in schema["required"] if name not in value]
        known = schema["properties"]
        parts += [complaint(item, known[name], name) for name, item in value.items() if name in known]
        parts += [f"`{at}` has no `{name}`; it has {', '.join(known) or 'none'}" for name in value if name not in known]
    return next((part for part in parts if part), None)


def tool(about, inputs, outputs, reads=True):
    """Offers a function as a tool."""

    def offer(run):
        hints = {"readOnlyHint": reads, "destructiveHint": False, "idempotentHint": reads, "openWorldHint": False}
        declared = {"name": run.__name__, "title": run.__name__.replace("_", " ").capitalize(), "description": about}
        schemas = {"inputSchema": closed(inputs), "outputSchema": closed(outputs)}
        TOOLS[run.__name__] = ({**declared, **schemas, "annotations": hints}, run)
        return run

    return offer


def call(params, amend):
    """Calls a tool, once its arguments are what it declares."""
    entry, run = TOOLS.get(str(params.get("name")), (None, None))
    if entry is None:
        raise Refused(-32602, f"there is no tool `{params.get('name')}`; the tools are {', '.join(TOOLS)}")
    arguments = params.get("arguments", {})
    wrong = complaint(arguments, entry["inputSchema"], "arguments")
    if wrong:
        return {"result": {"content": [{"type": "text", "text": f"{run.__name__}: {wrong}"}], "isError": True}}
    known = entry["inputSchema"]["properties"].items()
    defaults = {name: schema["default"] for name, schema in known if "default" in schema}
    value = run(**{**defaults, **arguments})
    content = [{"type": "text", "text": json.dumps(value)}]
    return {"result": {"content": content, "structuredContent": value}, **amend(arguments)}


def answer(method, params, session, amend):
    """The result of a request, in its era: that of the session, or the one that the request names."""
    meta = params.get("_meta") if isinstance(params.get("_meta"), dict) else {}
    stateless = META + "protocolVersion" in meta
    if stateless and meta[META + "protocolVersion"] != STATELESS:
        asked = {"supported": [STATELESS, *SESSIONS], "requested": meta[META + "protocolVersion"]}
        raise Refused(-32022, "that revision is not spoken here", asked)
    if stateless and META + "clientCapabilities" not in meta:
        raise Refused(-32602, f"`_meta` lacks `{META}clientCapabilities`")
    if method == "ping" and not stateless:
        return {"result": {}}
    if method == "initialize" and not stateless:
        if session:
            raise Refused(-32600, "the session is initialized already")
        asked = params.get("protocolVersion")
        session.append(asked if asked in SESSIONS else SESSIONS[0])
        return {"result": {"protocolVersion": session[0], "capabilities": {"tools": {}}, "serverInfo": INFO}}
    if method not in ("tools/list", "tools/call", "server/discover") or (method == "server/discover" and session):
        raise Refused(-32601, f"there is no method `{method}`")
    if not stateless and not session:
        raise Refused(-32602, f"send `initialize` first, or name `{META}protocolVersion` in `_meta`")
    if params.get("cursor") is not None:
        raise Refused(-32602, "there is one page only; leave out `cursor`")
    if method == "tools/call":
        given = call(params, amend)
    elif method == "tools/list":
        given = {"result": {"tools": [entry for entry, _ in TOOLS.values()]}}
    else:
        given = {"result": {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}}}
    if stateless:
        given["result"].update({"resultType": "complete", "_meta": {META + "serverInfo": INFO}})
        if method != "tools/call":
            given["result"].update({"ttlMs": 3600000, "cacheScope": "public"})
    return given


def write(message):
    """Writes one message on a line of its own."""
    with OUTPUT:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def error(code, message, data=None):
    return {"error": {"code": code, "message": message, **({"data": data} if data else {})}}


def reply(message, session, amend):
    """Answers one request; what a tool does not catch ends the process."""
    try:
        write({"id": message["id"], **answer(message["method"], message.get("params", {}), session, amend)})
    except Refused as refusal:
        write({"id": message["id"], **error(*refusal.args)})
    except Exception:
        traceback.print_exc()
        os._exit(1)


def number(digits):
    """In JSON Schema 3.0 is a whole number."""
    return int(float(digits)) if float(digits).is_integer() else float(digits)


def receive(line, session, amend):
    """Answers a line, or has it answered: a call gets a thread of its own, so that a slow one holds up no other."""
    try:
        message = json.loads(line, parse_float=number)
    except (ValueError, RecursionError):
        return write({"id": None, **error(-32700, "this is no JSON")})
    envelope = message if isinstance(message, dict) else {}
    has_id = isinstance(envelope.get("id"), (str, int)) and not isinstance(envelope.get("id"), bool)
    is_call = isinstance(envelope.get("method"), str) and isinstance(envelope.get("params", {}), dict)
    if envelope.get("jsonrpc") != "2.0" or not is_call or ("id" in envelope and not has_id):
        return write({"id": envelope["id"] if has_id else None, **error(-32600, "this is no JSON-RPC 2.0 request")})
    if has_id and message["method"] == "tools/call":
        threading.Thread(target=reply, args=(message, session, amend), daemon=True).start()
    elif has_id:
        reply(message, session, amend)


def serve(name, amend=lambda arguments: {}):
    """Serves until the input ends; `amend` makes members that answers to calls get beside `result`."""
    INFO["name"] = name
    session = []
    for line in sys.stdin.buffer:
        receive(line, session, amend)
    # Calls that still run get a moment to end; one that hangs never would.
    deadline = time.monotonic() + 0.2
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))
