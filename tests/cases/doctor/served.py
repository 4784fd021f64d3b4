"""Something over HTTP at a free port, and what `mcprove doctor` says of it: `served.py MODE PATH`."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, "../../servers")
from little import Server

PAGE = b"<!DOCTYPE html><html><head><title>Our shop</title></head><body>Welcome</body></html>"
CARD = {"name": "com.example/served", "version": sys.argv[3] if len(sys.argv) > 3 else "", "description": "A little server"}
METADATA = "/.well-known/oauth-protected-resource"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, kind, body, **headers):
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), **headers}
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if mode == "locked" and self.path == METADATA:
            servers = {"authorization_servers": ["https://login.example.com"]}
            return self.answer(200, "application/json", json.dumps(servers).encode())
        if mode == "card" and self.path == "/mcp/server-card":
            return self.answer(200, "application/mcp-server-card+json", json.dumps(CARD).encode())
        self.answer(405, "text/plain", b"")

    do_DELETE = do_GET

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if mode == "locked":
            named = f'Bearer resource_metadata="http://{self.headers["Host"]}{METADATA}"'
            return self.answer(401, "text/plain", b"", WWW_Authenticate=named)
        if mode == "moved":
            return self.answer(308, "text/plain", b"", Location="https://mcp.example.com/mcp")
        if mode == "page" or self.path != "/mcp":
            return self.answer(200, "text/html", PAGE)
        if "id" not in message:
            return self.answer(202, "application/json", b"")
        answer = Server(1, "served").answer(message["method"], message.get("params", {}))
        if "error" in answer and message["method"] == "server/discover":
            return self.answer(400, "application/json", b"")
        self.answer(200, "application/json", json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode())


mode, path, *flags = sys.argv[1:]
# The version of the card is no flag.
flags = [] if mode == "card" else flags
# A client that goes away is none of its business.
ThreadingHTTPServer.handle_error = lambda *words: None
http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=http.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{http.server_address[1]}{path}"
done = subprocess.run([os.environ["MCPROVE"], "doctor", url, *flags])
sys.exit(done.returncode)
