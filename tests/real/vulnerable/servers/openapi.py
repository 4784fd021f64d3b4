"""A server that FastMCP makes from an OpenAPI document, and the service behind it, which resolves dots as browsers do."""
import json
import posixpath
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import httpx
from fastmcp import FastMCP

USERS = {"u1": "Ann", "u2": "Bob"}


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        folder, name = posixpath.split(posixpath.normpath(urlsplit(self.path).path))
        name = unquote(name)
        is_known = folder == "/users" and name in USERS
        answer = {"id": name, "name": USERS[name]} if is_known else {"error": "no such user"}
        body = json.dumps(answer).encode()
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


service = ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=service.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{service.server_port}"
user = {
    "operationId": "get_user",
    "summary": "Returns a user.",
    "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
    "responses": {"200": {"description": "A user", "content": {"application/json": {"schema": {"type": "object"}}}}},
}
document = {
    "openapi": "3.1.0",
    "info": {"title": "Users", "version": "1"},
    "servers": [{"url": address}],
    "paths": {"/users/{id}": {"get": user}},
}
FastMCP.from_openapi(document, client=httpx.AsyncClient(base_url=address), name="users").run(show_banner=False)
