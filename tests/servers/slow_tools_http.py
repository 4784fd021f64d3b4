"""The server of `slow_tools.py` over streamable HTTP, in both eras: `python3 slow_tools_http.py PORT [stops|goes-on]`.

A closed response cancels since 2026-07-28, and does not before. `stops`: it does in both eras. `goes-on`: it does in neither.
"""

import select
import socket
import sys
import threading
import time

from little import text
from little_http import HttpServer, event, is_modern, refusal
from slow_tools import STEPS, TOOLS


class SlowToolsHttp(HttpServer):
    def __init__(self, mode):
        super().__init__()
        self.mode = mode
        self.rows = 0
        self.cancelled = {}
        self.little.list_tools = lambda params: {"tools": TOOLS}
        self.little.call_tool = self.call_quick
        self.on_notification = self.take_notification

    def call_quick(self, name, arguments):
        return text(f"{self.rows} rows" if name == "list_rows" else arguments["text"])

    def take_notification(self, exchange, message):
        if message.get("method") == "notifications/cancelled":
            self.cancelled.setdefault(message["params"]["requestId"], threading.Event()).set()
        exchange.send(202)

    def request(self, exchange, message):
        params = message.get("params", {})
        if message["method"] != "tools/call" or params.get("name") != "import_rows":
            return super().request(exchange, message)
        modern, request = is_modern(exchange, message), message["id"]
        stop = self.cancelled[request] = threading.Event()
        exchange.begin()
        closing_stops = self.mode == "stops" or (modern and self.mode != "goes-on")
        seconds, token = params["arguments"]["seconds"], params.get("_meta", {}).get("progressToken")
        is_open, begun = True, time.monotonic()
        for step in range(1, STEPS + 1):
            time.sleep(max(0, begun + seconds * step / STEPS - time.monotonic()))
            is_open = is_open and not is_closed(exchange.connection)
            if stop.is_set() or (closing_stops and not is_open):
                return exchange.end() if is_open else exchange.close()
            self.rows += 1
            if token is not None and is_open:
                progress = {"progressToken": token, "progress": step, "total": STEPS}
                exchange.chunk(event({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}))
        result = {**text("imported"), **({"resultType": "complete"} if modern else {})}
        exchange.chunk(event(refusal(request, {"result": result})))
        exchange.end()


def is_closed(connection):
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""


if __name__ == "__main__":
    SlowToolsHttp(sys.argv[2] if len(sys.argv) > 2 else "sound").listen(int(sys.argv[1]), None)
