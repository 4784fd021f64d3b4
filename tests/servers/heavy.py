#!/usr/bin/env python3
"""A server (2025-11-25, stdio) that takes heavy arguments, but for one fault: `heavy.py [FAULT]`.

Faults: `pattern` looks for any pattern, however long that takes, `schema` checks an argument with a pattern that
backtracks, `nested` ends at lists within lists, `long` and `wide` end at texts and lists that are too large,
`expand` puts in the entities of a document, `once` ends at the first nesting that it ever sees (in the file `seen`).
No faults: `large` answers every call of `title` with 2 MB, `slow` works 9 s on a list that is too large, and on nothing
else meanwhile.
"""

import json
import os
import re
import sys
import time

sys.dont_write_bytecode = True
from little import Refused, Server, text, tool  # noqa: E402

TEXT = {"type": "string"}
NAMES = "^([a-z]+\\d?)+$"
TOOLS = [
    tool("find", "Returns the lines of `text` that have the pattern.", {"pattern": TEXT, "text": TEXT}, ["pattern"]),
    tool("greet", "Greets `name`.", {"name": {**TEXT, "pattern": NAMES, "examples": ["ann"]}}, ["name"]),
    tool("count", "Says how many `words` there are.", {"words": {"type": "array", "items": TEXT}}, ["words"]),
    tool("title", "Returns the text of the document `xml`.", {"xml": {**TEXT, "examples": ["<a>x</a>"]}}, ["xml"]),
]


class Heavy:
    def __init__(self, fault):
        self.fault = fault

    def find(self, pattern, text="milk, bread, and honey"):
        if self.fault != "pattern" and re.search(r"\)[+*{]", pattern):
            raise Refused("this pattern may take too long")
        try:
            return "\n".join(line for line in text.splitlines() if re.search(pattern, line))
        except re.error as error:
            raise Refused(f"this is no pattern: {error}") from error

    def greet(self, name):
        if self.fault != "schema" and len(name) > 30:
            raise Refused("this name is too long")
        if not re.search(NAMES, name):
            raise Refused("this is no name")
        return f"Hello, {name}"

    def count(self, words):
        if len(words) > 10_000:
            if self.fault == "wide":
                os._exit(3)
            if self.fault == "slow":
                time.sleep(9)
            raise Refused("these are too many")
        return f"{len(words)} words"

    def title(self, xml):
        if self.fault == "large":
            return "title " * 350_000
        if self.fault != "expand":
            return re.sub("<[^>]*>", "", xml)[:1000]
        entities = dict(re.findall(r'<!ENTITY (\w+) "([^"]*)">', xml))
        body = xml.rsplit("]>", 1)[-1]
        while re.search(r"&(\w+);", body):
            body = re.sub(r"&(\w+);", lambda found: entities.get(found[1], ""), body)
        return re.sub("<[^>]*>", "", body)


class HeavyServer(Server):
    def __init__(self, fault):
        super().__init__(0, "heavy")
        self.fault = fault

    def hear(self, line):
        is_deep = b"[" * 500 in line
        if self.fault == "once" and is_deep and not os.path.exists("seen"):
            open("seen", "w", encoding="utf-8").close()
            os._exit(3)
        if self.fault == "nested" and is_deep:
            os._exit(3)
        super().hear(line)


def main(fault=""):
    heavy = Heavy(fault)
    server = HeavyServer(fault)

    def call(name, arguments):
        entry = next((entry for entry in TOOLS if entry["name"] == name), None)
        if entry is None:
            raise LookupError(name)
        schema = entry["inputSchema"]
        if not all(one in arguments for one in schema["required"]):
            raise Refused("an argument is missing")
        kinds = {"string": str, "array": list}
        if not all(isinstance(arguments.get(one, kinds[of["type"]]()), kinds[of["type"]]) for one, of in schema["properties"].items()):
            raise Refused("an argument has another type")
        if len(json.dumps(arguments.get("text", ""))) > 100_000:
            if fault == "long":
                os._exit(3)
            raise Refused("this text is too long")
        return text(getattr(heavy, name)(**{one: arguments[one] for one in schema["properties"] if one in arguments}))

    server.list_tools = lambda params: {"tools": TOOLS}
    server.call_tool = call
    server.serve()


main(*sys.argv[1:])
