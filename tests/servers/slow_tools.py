"""A server with a tool that takes its time, over stdio in both eras: `python3 slow_tools.py MODE`.

It works on several requests at a time. `import_rows` writes a row at a time for `seconds`, reports progress, and stops when
it is cancelled; `list_rows` shows the rows. Whatever a mode breaks is in MODES.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

from little import text, tool

STEPS = 20
MODERN = "2026-07-28"
TOOLS = [
    tool("import_rows", "Imports rows for `seconds`.", {"seconds": {"type": "number", "minimum": 0}}, ["seconds"]),
    tool("list_rows", "Returns how many rows there are.", {}, []),
    tool("echo", "Returns `text`.", {"text": {"type": "string"}}, ["text"]),
]


class SlowTools:
    """The correct server; a mode replaces what it wants to break."""

    def __init__(self):
        self.writing = threading.Lock()
        self.rows = 0
        self.cancelled = {}
        # The hooks.
        self.hears_cancellation = True
        # How often a step is reported and written although it is cancelled.
        self.last_steps = 0
        self.one_at_a_time = False
        self.reports = True
        self.shows = lambda: self.rows
        self.on_cancelled = lambda request: None
        self.refuses = lambda: False
        self.at_end = lambda: None

    def write(self, message):
        with self.writing:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def serve(self):
        for line in sys.stdin:
            message = json.loads(line)
            if message.get("method") == "notifications/cancelled":
                request = message["params"]["requestId"]
                if self.hears_cancellation and request in self.cancelled:
                    self.cancelled[request].set()
                self.on_cancelled(request)
            if "id" not in message:
                continue
            self.cancelled[message["id"]] = threading.Event()
            if self.one_at_a_time:
                self.answer(message)
            else:
                threading.Thread(target=self.answer, args=[message], daemon=True).start()
        self.at_end()

    def answer(self, message):
        method, params = message["method"], message.get("params", {})
        is_modern = any(key.endswith("/protocolVersion") for key in params.get("_meta", {}))
        result = self.result(message["id"], method, params)
        if self.cancelled[message["id"]].is_set():
            return
        if result is None:
            return self.write({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        if is_modern:
            result = {"resultType": "complete", **result}
            if method != "tools/call":
                result.update({"ttlMs": 0, "cacheScope": "private"})
        self.write({"id": message["id"], "result": result})

    def result(self, request, method, params):
        about = {"name": "slow-tools", "version": "1.0.0"}
        if method == "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
        if method == "server/discover":
            return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": TOOLS}
        if method != "tools/call":
            return None
        if self.refuses():
            return {**text("no more"), "isError": True}
        arguments = params.get("arguments", {})
        if params["name"] == "import_rows":
            return self.import_rows(request, arguments["seconds"], params.get("_meta", {}).get("progressToken"))
        if params["name"] == "list_rows":
            return text(f"{self.shows()} rows")
        return text(arguments["text"])

    def import_rows(self, request, seconds, token):
        stop, begun, left = self.cancelled[request], time.monotonic(), self.last_steps
        for step in range(1, STEPS + 1):
            time.sleep(max(0, begun + seconds * step / STEPS - time.monotonic()))
            if stop.is_set():
                if left == 0:
                    return None
                left -= 1
            self.rows += 1
            if token is not None and self.reports:
                progress = {"progressToken": token, "progress": step, "total": STEPS}
                self.write({"method": "notifications/progress", "params": progress})
        return text("imported")


def goes_on(server):
    """Works on after a cancellation, and says nothing: only its rows show it."""
    server.last_steps, server.reports = STEPS, False


def reports(server):
    """Works on after a cancellation, and reports it."""
    server.last_steps = STEPS


def answers(server):
    """Takes no notice of cancellations."""
    server.hears_cancellation = False


def crossing(server):
    """Finishes the step that is under way: correct."""
    server.last_steps = 1


def serial(server):
    """Works on one request at a time."""
    server.one_at_a_time = True


def counting(server):
    """Shows another number each time, whatever was written: nothing follows from it."""
    shown = iter(range(1_000_000))
    server.shows = lambda: next(shown)


def idle(server):
    """Shows the same, whatever was written: nothing follows from it."""
    server.shows = lambda: 0


def falls(server):
    """Ends when a request is cancelled that it does not know."""
    server.on_cancelled = lambda request: request in server.cancelled or os._exit(3)


def hangs(server):
    """Answers nothing after a cancellation."""
    server.on_cancelled = lambda _: time.sleep(600)


def refuses(server):
    """Serves no call once a request was cancelled that it does not know."""
    unknown = []
    server.on_cancelled = lambda request: request in server.cancelled or unknown.append(request)
    server.refuses = lambda: bool(unknown)


def floods(server):
    """Writes without end after a cancellation."""

    def flood(_):
        while True:
            server.write({"method": "notifications/message", "params": {"level": "info", "data": "x" * 65536}})

    server.on_cancelled = flood


def mute(server):
    """Never answers a call of `import_rows`, and reports nothing."""
    server.import_rows = lambda *_: time.sleep(600)


def remembers(server):
    """Leaves a request unanswered that was cancelled before it came: correct."""
    early = set()
    server.on_cancelled = lambda request: request in server.cancelled or early.add(request)
    answer = server.answer
    server.answer = lambda message: message["id"] in early or answer(message)


def stumbles(server):
    """Ends when a request comes that was cancelled before."""
    early = set()
    server.on_cancelled = lambda request: request in server.cancelled or early.add(request)
    answer = server.answer
    server.answer = lambda message: os._exit(3) if message["id"] in early else answer(message)


def stays(server):
    """Stays when its input has ended, until calls that run are done, and a while longer."""

    def stay():
        if threading.active_count() > 1:
            time.sleep(600)

    server.at_end = stay


def deaf(server):
    """Takes no notice of SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def leaves(server):
    """Leaves a process behind."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(["sleep", "600"], **quiet)


MODES = {
    mode.__name__: mode
    for mode in (
        goes_on, reports, answers, crossing, serial, counting, idle, falls, hangs, refuses, floods, mute, remembers, stumbles,
        stays, deaf, leaves,
    )
}

if __name__ == "__main__":
    slow_tools = SlowTools()
    for mode in sys.argv[1:]:
        MODES.get(mode, lambda _: None)(slow_tools)
    slow_tools.serve()
