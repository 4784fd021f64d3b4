"""The correct server over stdio, with tools that need a network, a browser or a service, and have none."""

import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
from little import Refused, Server, text, tool  # noqa: E402

BROWSER = "browserType.launch: Executable doesn't exist at /ms-playwright/chrome\nrun: npx playwright install"
server = Server(0)
entries = {
    "get_rate": tool("get_rate", "Returns the rate of `currency`.", {"currency": {"type": "string"}}, ["currency"]),
    "get_title": tool("get_title", "Returns the title of the page.", {}, []),
    "get_page": tool("get_page", "Returns the page at `url`.", {"url": {"type": "string"}}, ["url"]),
    "get_quote": tool("get_quote", "Returns the quote of `symbol`.", {"symbol": {"type": "string"}}, ["symbol"]),
    "get_pods": tool("get_pods", "Returns the pods of `space`.", {"space": {"type": "string"}}, ["space"]),
    "get_shape": tool("get_shape", "Returns the shape of the door.", {}, []),
    "get_state": tool("get_state", "Returns the state of the door.", {}, []),
}


rates = 0


def call_tool(name, arguments):
    global rates
    if name == "get_rate":
        rates += 1
        if rates > 1:
            raise Refused("Error: Rate limit exceeded")
    server.validate(entries[name]["inputSchema"], arguments)
    if name == "get_title":
        raise Refused(BROWSER)
    if name == "get_page":
        raise Refused("Could not load it: getaddrinfo ENOTFOUND example.com")
    if name == "get_quote":
        return text("Error fetching quote: fetch failed")
    if name == "get_rate":
        return text("1.08")
    if name == "get_pods":
        print("dial tcp 127.0.0.1:6443: connect: connection refused", file=sys.stderr, flush=True)
        time.sleep(60)
    if name == "get_shape":
        raise Refused("Output validation error: 'wide' is not of type 'number'")
    # The one whose refusal is its own doing.
    raise Refused("The door has no state.")


server.list_tools = lambda params: {"tools": list(entries.values())}
server.call_tool = call_tool
server.serve()
