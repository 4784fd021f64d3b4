"""A server of 2026-07-28 over HTTP that takes requests with a text as id for too many, and refuses them with 429 and no body:
limiting.py PORT.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LISTED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
RESULTS = {
    "server/discover": LISTED | {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    "tools/list": LISTED | {"tools": [{"name": "five", "inputSchema": {"type": "object"}}]},
    "tools/call": {"resultType": "complete", "content": [{"type": "text", "text": "five"}]},
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if isinstance(message.get("id"), str):
            return self.answer(429, b"")
        if message["method"] == "tools/call":
            # The refusals come first.
            time.sleep(0.3)
        answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": RESULTS[message["method"]]}
        self.answer(200, json.dumps(answer).encode())

    def do_GET(self):
        self.answer(405, b"")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
