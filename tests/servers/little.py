"""A little MCP server over stdio (2025-11-25) that does everything right."""

import json
import os
import sys
import time


def tool(name, about, properties, required, output=None):
    entry = {
        "name": name,
        "description": about,
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "annotations": {"readOnlyHint": True},
    }
    return {**entry, "outputSchema": output} if output else entry


SUM = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
USER = {"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"}}, "required": ["id", "name"]}
TOOLS = [
    tool("echo", "Returns `text`.", {"text": {"type": "string"}}, ["text"]),
    tool("add", "Adds `a` and `b`.", {"a": {"type": "number"}, "b": {"type": "number"}}, ["a", "b"], SUM),
    tool("get_user", "Returns the user with the id `id`: u1 or u2.", {"id": {"type": "string"}}, ["id"], USER),
    tool("slow", "Answers after `seconds`.", {"seconds": {"type": "number", "minimum": 0}}, ["seconds"]),
]
USERS = {"u1": "Ann", "u2": "Bob"}


class Refused(Exception):
    """A call that cannot be served; its text is for the caller."""


class Server:
    """The correct server; a mode replaces what it wants to break."""

    def __init__(self, number, name="hostile", version="1.0.0"):
        self.number = number
        self.about = {"name": name, "version": version}
        self.calls = 0
        self.list_tools = lambda params: {"tools": TOOLS}
        self.call_tool = self.correct_call
        # From a request and its answer to what is written: messages, or bytes as they are.
        self.reply = lambda request, answer: [answer]
        self.on_other = lambda message: None
        self.at_end = lambda: None

    def write(self, message):
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        line += b"\n"
        while line:
            line = line[os.write(1, line) :]

    def serve(self):
        for line in sys.stdin.buffer:
            self.hear(line)
        self.at_end()

    def hear(self, line):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return self.write({"id": None, **self.error(-32700, "Parse error")})
        if not self.is_message(message):
            return self.write({"id": None, **self.error(-32600, "Invalid request")})
        self.receive(message)

    @staticmethod
    def is_message(message):
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return False
        if "method" not in message:
            return "result" in message or "error" in message
        is_named = isinstance(message["method"], str) and isinstance(message.get("params", {}), dict)
        is_id = isinstance(message.get("id", 0), (str, int)) and not isinstance(message.get("id"), bool)
        return is_named and is_id

    def receive(self, message):
        if "method" not in message or "id" not in message:
            return self.on_other(message)
        answer = {"id": message["id"], **self.answer(message["method"], message.get("params", {}))}
        is_call = message["method"] == "tools/call"
        for written in self.reply(message, answer) if is_call else [answer]:
            self.write(written)

    def answer(self, method, params):
        if method == "initialize":
            known = params["protocolVersion"] in ("2025-06-18", "2025-11-25")
            return {
                "result": {
                    "protocolVersion": params["protocolVersion"] if known else "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": self.about,
                }
            }
        if method == "ping":
            return {"result": {}}
        if method == "tools/list":
            return {"result": self.list_tools(params)}
        if method == "tools/call":
            return self.call(params)
        return self.error(-32601, "Method not found")

    @staticmethod
    def error(code, message):
        return {"error": {"code": code, "message": message}}

    def call(self, params):
        self.calls += 1
        name, arguments = params.get("name"), params.get("arguments")
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            return self.error(-32602, "`arguments` must be an object")
        try:
            return {"result": self.call_tool(name, arguments)}
        except LookupError:
            return self.error(-32602, f"Unknown tool: {name}")
        except Refused as refusal:
            return {"result": {**text(str(refusal)), "isError": True}}

    def correct_call(self, name, arguments):
        schema = next((entry["inputSchema"] for entry in TOOLS if entry["name"] == name), None)
        if schema is None:
            raise LookupError(name)
        self.validate(schema, arguments)
        if name == "echo":
            return text(arguments["text"])
        if name == "add":
            return structured({"sum": arguments["a"] + arguments["b"]})
        if name == "get_user":
            if arguments["id"] not in USERS:
                raise Refused(f"There is no user {arguments['id']!r}; the ids are u1 and u2.")
            return structured({"id": arguments["id"], "name": USERS[arguments["id"]]})
        time.sleep(min(arguments["seconds"], 60))
        return text("done")

    @staticmethod
    def validate(schema, arguments):
        for name in schema["required"]:
            if name not in arguments:
                raise Refused(f"The argument `{name}` is missing.")
        for name, value in arguments.items():
            rule = schema["properties"].get(name, {})
            wanted = rule.get("type")
            kinds = {"string": str, "number": (int, float)}.get(wanted, object)
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise Refused(f"The argument `{name}` must be a {wanted}.")
            if "minimum" in rule and value < rule["minimum"]:
                raise Refused(f"The argument `{name}` must be at least {rule['minimum']}.")


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def structured(value):
    return {**text(json.dumps(value)), "structuredContent": value}
