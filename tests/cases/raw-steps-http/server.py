"""A little MCP server over HTTP (2025-11-25) that guards its door: `server.py PORT`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SESSION = "s-1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, value=None, headers=(), kind="application/json"):
        body = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in [("Content-Type", kind), ("Content-Length", str(len(body))), *headers]:
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def error(self, status, code, message):
        self.give(status, {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})

    def do_GET(self):
        if self.path == "/hang-up":
            self.close_connection = True
            self.connection.close()
        elif self.path == "/forever":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"id: 1\ndata:\n\nevent: tick\ndata: {\"n\": 1}\n\n" * 100)
            except OSError:
                self.close_connection = True
        elif self.path == "/headers":
            self.give(200, [list(pair) for pair in self.headers.items()])
        else:
            self.give(405, None, [("Allow", "POST"), ("X-Twice", "a"), ("X-Twice", "b")])

    def do_DELETE(self):
        self.give(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Origin", "http://127.0.0.1").startswith("http://evil"):
            return self.error(403, -32000, "Forbidden origin")
        try:
            message = json.loads(body)
        except ValueError:
            return self.error(400, -32700, "Parse error")
        if isinstance(message, list):
            answers = [{"jsonrpc": "2.0", "id": one["id"], "result": {}} for one in message]
            return self.give(200, answers)
        if message.get("method") == "initialize":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "little", "version": "1"},
            }
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            return self.give(200, answer, [("Mcp-Session-Id", SESSION)])
        given = self.headers.get("Mcp-Session-Id")
        if given != SESSION:
            return self.error(404 if given else 400, -32000, "No such session")
        if "id" not in message:
            return self.give(202)
        known = message["method"] in ("ping", "tools/list")
        outcome = {"result": {"tools": []}} if known else {"error": {"code": -32601, "message": "Method not found"}}
        answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome})
        if message["method"] == "ping":
            events = f'event: message\ndata: {answer}\n\n'.encode()
            return self.give(200, events, kind="text/event-stream")
        return self.give(200, answer.encode())


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
