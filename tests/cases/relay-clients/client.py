"""A client of a server of entries behind a relay: one that looks at what it gets, and one that does not.

The careful one matches answers to its requests by id, waits, asks whether the tool is offered, believes only a result that says
what was done, repeats a call under the same key, and starts the relay again when it is gone. The careless one takes what comes
next for the answer, and silence for a success.
"""

import json
import os
import select
import subprocess
import time

MCPROVE = os.environ["MCPROVE"]
SOON, LONG = 1.0, 5.0


class Connection:
    """A relay and its server, which may be gone."""

    def __init__(self, plan, store):
        command = ["relay", "stdio", "--quiet", "--plan", plan, "--", "python3", "../../servers/ledger.py", "careful", store]
        self.relay = subprocess.Popen([MCPROVE, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.rest = b""
        self.number = 0
        about = {"name": "client", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=about)
        self.line(LONG)

    def ask(self, method, **params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        try:
            self.relay.stdin.write(json.dumps(message).encode() + b"\n")
        except OSError:
            pass
        return self.number

    def line(self, timeout):
        """The next line; None where none comes in time, and an empty one at the end."""
        until = time.monotonic() + timeout
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.relay.stdout], [], [], left)[0]:
                return None
            piece = os.read(self.relay.stdout.fileno(), 65536)
            if not piece:
                return b""
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def close(self):
        self.relay.stdin.close()
        self.relay.stdout.close()
        self.relay.wait()


class Careless:
    def __init__(self, plan, store):
        self.connection = Connection(plan, store)

    def put(self, key):
        """What it takes for the result."""
        self.connection.ask("tools/call", name="add_entry", arguments={"key": key})
        line = self.connection.line(SOON)
        try:
            result = json.loads(line)["result"]
            return result.get("structuredContent") or result["content"][0]["text"]
        except (ValueError, TypeError, LookupError):
            return line or "nothing"

    def close(self):
        self.connection.close()


class Careful:
    def __init__(self, plan, store):
        self.plan, self.store = plan, store
        self.connection = Connection(plan, store)

    def answer(self, number, timeout):
        """The result of a request; None where there is no good one."""
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0:
            line = self.connection.line(left)
            if line == b"":
                self.connection.close()
                self.connection = Connection(self.plan, self.store)
                return None
            try:
                message = json.loads(line) if line else {}
            except ValueError:
                continue
            if message.get("id") == number:
                return message.get("result")
        return None

    def is_offered(self):
        listed = self.answer(self.connection.ask("tools/list"), LONG) or {}
        return any(tool["name"] == "put_entry" for tool in listed.get("tools", []))

    def put(self, key):
        """The result; None where it knows that there is none."""
        if not self.is_offered():
            return None
        for _ in range(4):
            number = self.connection.ask("tools/call", name="put_entry", arguments={"key": key})
            result = self.answer(number, LONG)
            done = {"done": "put_entry"}
            if result and not result.get("isError") and result.get("structuredContent") == done:
                text = result["content"][0]["text"] if result.get("content") else ""
                if text == json.dumps(done):
                    return done
        return None

    def close(self):
        self.connection.close()
