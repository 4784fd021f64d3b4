"""A server with a bug in each of five tools: one ends it, one never answers, one breaks its own output schema, one shows
more than a page, and one fails inside."""

import asyncio
import json
import os
import sys

NOTES = ["milk", "bread", "tea", "salt"]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
EMPTY = {"type": "object", "properties": {}}
PAGE = {
    "type": "object",
    "properties": {"limit": {"type": "integer", "minimum": 1, "maximum": 50}},
    "required": ["limit"],
    "additionalProperties": False,
}


def tool(name, description, schema, **more):
    return {"name": name, "description": description, "inputSchema": schema, **more}


TOOLS = [
    tool("shut_down", "Stops everything.", EMPTY),
    tool("wait_for_change", "Waits for a change.", EMPTY),
    tool("count_notes", "Counts the notes.", EMPTY, outputSchema={
        "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"],
    }),
    tool("list_notes", "Lists the first notes.", PAGE),
    tool("refresh", "Reads the notes again.", EMPTY),
    tool("print_text", "Prints a text.", TEXT),
]


def result(content, **more):
    return {"content": [{"type": "text", "text": content}], **more}


async def call(name, arguments):
    if name == "shut_down":
        os._exit(3)
    if name == "wait_for_change":
        await asyncio.Event().wait()
    if name == "count_notes":
        return result('{"count": "four"}', structuredContent={"count": "four"})
    if name == "list_notes":
        return result(json.dumps(NOTES[: arguments["limit"] + 1]))
    if name == "refresh":
        raise RuntimeError("no such file: notes.bak")
    if name == "print_text":
        return result(f"printed {arguments['text']}")
    return result("unknown tool", isError=True)


async def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "five-bugs", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return await call(params.get("name"), params.get("arguments", {}))
    return {} if method == "ping" else None


async def serve(message):
    try:
        found = await answer(message.get("method"), message.get("params") or {})
        said = {"result": found} if found is not None else {"error": {"code": -32601, "message": "unknown method"}}
    except Exception as error:
        said = {"error": {"code": -32603, "message": str(error)}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)


async def main():
    tasks = set()
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and "id" in message:
            task = asyncio.create_task(serve(message))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


asyncio.run(main())
