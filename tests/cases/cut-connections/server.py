"""The correct server over HTTP, which cuts connections: `server.py PORT MODE`.

It cuts calls whose text is `once` the first time, those whose text is `always` every time. With `behind`, the server is a
process behind the one that was started, which lives on when the server ends at the text `end`.
"""

import json
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import TOOLS  # noqa: E402
from little_http import HttpServer, end_with_caller, event  # noqa: E402

server = HttpServer("legacy")
seen = set()
STORE = {**TOOLS[0], "name": "store", "description": "Stores `text`.", "annotations": {"readOnlyHint": False}}
call_tool = server.little.call_tool
server.little.list_tools = lambda params: {"tools": [*TOOLS, STORE]}
server.little.call_tool = lambda name, arguments: call_tool("echo" if name == "store" else name, arguments)


def reply(exchange, answer):
    message = json.loads(exchange.body)
    text = message.get("params", {}).get("arguments", {}).get("text")
    if text == "end":
        os._exit(1)
    if text == "always" or text == "once" and text not in seen:
        seen.add(text)
        exchange.reset()
    exchange.stream(event(answer))


server.reply = reply
if sys.argv[2] == "behind" and os.fork():
    end_with_caller()
    time.sleep(600)
end_with_caller()
server.listen(int(sys.argv[1]), None)
