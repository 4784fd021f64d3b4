"""A tool and a prompt over stdio: lenient.py MODE.

`right` refuses arguments that are no object with -32602, and takes `null` as absent. `blames` answers them with -32603, and its
second tool every call; `mixed` takes the first of two values here and the last there; `ends` exits when a name comes twice;
`tells` gives a prompt the sentence of an error as its text.
"""

import json
import os
import re
import sys

sys.dont_write_bytecode = True
from little import Refused, Server, text, tool  # noqa: E402

MODE = sys.argv[1]
TEXT = {"type": "string"}
TOOLS = [tool("look_up", "Looks up a word.", {"word": TEXT}, ["word"])]
if MODE == "blames":
    TOOLS.append(tool("get_weather", "Returns the weather.", {"city": TEXT}, ["city"]))
PROMPTS = [{"name": "explain", "arguments": [{"name": "topic", "required": True}]}]


class Lenient(Server):
    pairs = []

    def hear(self, line):
        words = re.findall(rb'"word" *: *"([^"]*)"', line)
        if MODE == "ends" and len(words) > 1:
            os._exit(3)
        self.pairs = [word.decode() for word in words] if MODE == "mixed" else []
        super().hear(line)

    def receive(self, message):
        params, id = message.get("params", {}), message.get("id")
        if message.get("method") == "tools/call" and "arguments" in params and not isinstance(params["arguments"], dict):
            if params["arguments"] is None and MODE != "blames":
                params["arguments"] = {}
            else:
                code = -32603 if MODE == "blames" else -32602
                return self.write({"id": id, **self.error(code, "arguments must be an object")})
        if message.get("method") == "tools/call" and params.get("name") == "get_weather":
            return self.write({"id": id, **self.error(-32603, "Internal error")})
        if message.get("method") == "initialize":
            about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": self.about}
            return self.write({"id": id, "result": about})
        if message.get("method") == "prompts/list":
            return self.write({"id": id, "result": {"prompts": PROMPTS}})
        if message.get("method") == "prompts/get":
            if params.get("name") != "explain" or MODE != "tells":
                return self.write({"id": id, **self.error(-32602, f"unknown topic {params.get('arguments')}")})
            content = {"type": "text", "text": f"Error: topic {params['arguments'].get('topic')} not found"}
            return self.write({"id": id, "result": {"messages": [{"role": "user", "content": content}]}})
        super().receive(message)


def call(name, args):
    if name != "look_up":
        raise LookupError(name)
    if not isinstance(args.get("word"), str):
        raise Refused("`word` must be a text")
    first, last = (server.pairs[0], server.pairs[-1]) if server.pairs else (args["word"], args["word"])
    return text(json.dumps({"checked": first, "found": last}))


server = Lenient(0, "lenient")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = call
server.serve()
