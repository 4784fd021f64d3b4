"""A server whose answers other clients read, and the client of an SDK does not: `unreadable.py PART`.

PART is `handshake`, `list` or `call`; with `none` every answer is correct.
"""

import sys

sys.dont_write_bytecode = True
from little import TOOLS, Server  # noqa: E402

SERVER = Server(1)


def initialize(method, params):
    answer = CORRECT(method, params)
    if method == "initialize":
        answer["result"]["serverInfo"]["icons"] = "icon.png"
    return answer


def listed(_):
    return {"tools": [{**TOOLS[0], "annotations": {"readOnlyHint": "yes"}}, *TOOLS[1:]]}


def called(name, arguments):
    result = SERVER.correct_call(name, arguments)
    result["content"][0]["annotations"] = {"priority": "high"}
    return result


CORRECT = SERVER.answer
match sys.argv[1]:
    case "handshake":
        SERVER.answer = initialize
    case "list":
        SERVER.list_tools = listed
    case "call":
        SERVER.call_tool = called
SERVER.serve()
