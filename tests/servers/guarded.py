"""An MCP server over HTTP (both eras) that wants tokens, and the authorization server that gives them, on one port.

`guarded.py PORT [MODE…]`; with `cert=FILE key=FILE` it speaks TLS. Every token serves three calls where the mode is
`short-lived`; without modes everything is right.
"""

import base64
import json
import os
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

PORT = int(sys.argv[1])
MODES = set(word for word in sys.argv[2:] if "=" not in word)
FILES = dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
ROOT = f"{'https' if 'cert' in FILES else 'http'}://127.0.0.1:{PORT}"
SECRET = os.environ.get("SECRET", "open sesame 7")
TEXT = {"type": "string"}
TOOLS = [
    {"name": "whoami", "inputSchema": {"type": "object"}},
    {
        "name": "find",
        "inputSchema": {"type": "object", "properties": {"region": {**TEXT, "x-mcp-header": "Region"}, "plain": TEXT}},
    },
]
tokens = {}
sessions = {}
asked = []


def text(words, is_error=False):
    return {"content": [{"type": "text", "text": words}], "isError": is_error, "resultType": "complete"}


def decoded(value):
    if value and value.startswith("=?base64?"):
        return base64.b64decode(value[9:-2]).decode()
    return value


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, headers=None, kind="application/json"):
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**({"content-type": kind} if data else {}), **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if "undiscoverable" in MODES:
            self.answer(404)
        elif self.path.startswith("/.well-known/oauth-protected-resource"):
            self.answer(200, {"resource": f"{ROOT}/mcp", "authorization_servers": [f"{ROOT}/issuer"], "scopes_supported": ["read"]})
        elif self.path == "/.well-known/oauth-authorization-server/issuer":
            self.answer(200, {"issuer": f"{ROOT}/issuer", "authorization_endpoint": f"{ROOT}/authorize", "token_endpoint": f"{ROOT}/token", "grant_types_supported": ["client_credentials"]})
        else:
            self.answer(404 if self.path.startswith("/.well-known") else 405)

    def do_DELETE(self):
        self.answer(204)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/token":
            self.give(parse_qs(body.decode()))
        elif self.may_come():
            self.receive(json.loads(body))

    def give(self, form):
        said = {name: values[0] for name, values in form.items()}
        asked.append(said)
        if "html" in MODES:
            return self.answer(200, "<h1>Log in</h1>", kind="text/html")
        if "failing" in MODES or "failing-later" in MODES and tokens:
            return self.answer(503, "<h1>down</h1>", kind="text/html")
        wanted = {"grant_type": "client_credentials", "client_id": "mcprove", "client_secret": SECRET}
        if any(said.get(name) != value for name, value in wanted.items()):
            return self.answer(401, {"error": "invalid_client", "error_description": f"not {said.get('client_secret')}"})
        if said.get("resource") != f"{ROOT}/mcp":
            return self.answer(400, {"error": "invalid_target"})
        token = f"token-{len(tokens) + 1}-of-{PORT}-is-secret"
        tokens[token] = 3 if "short-lived" in MODES or "failing-later" in MODES else 1000
        self.answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": said.get("scope", "")})

    def may_come(self):
        if "open" in MODES:
            return True
        token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        if token == os.environ.get("STATIC") or tokens.get(token, 0) > 0 and "closed" not in MODES:
            return True
        where = "" if "undiscoverable" in MODES else f' resource_metadata="{ROOT}/.well-known/oauth-protected-resource/mcp",'
        self.answer(401, None, {"www-authenticate": f'Bearer{where} scope="read"'})
        return False

    def receive(self, message):
        method, params = message.get("method"), message.get("params", {})
        session = self.headers.get("mcp-session-id")
        if "forgetful" in MODES and session is not None and sessions.get(session, 0) <= 0:
            return self.answer(404, "no such session", kind="text/plain")
        if "id" not in message:
            status = 400 if "deaf" in MODES else 202
            return self.answer(status, "I take no notifications" if status == 400 else None, kind="text/plain")
        headers, result = {}, {}
        if method == "server/discover":
            if "modern" not in MODES:
                return self.error(message, -32601, "no such method")
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        elif method == "initialize":
            name = f"s{len(sessions) + 1}"
            sessions[name] = 2
            headers = {"mcp-session-id": name}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "guarded", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": TOOLS, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        elif method == "tools/call":
            result = self.call(params["name"], params.get("arguments", {}), session)
        else:
            return self.error(message, -32601, "no such method")
        self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, headers)

    def call(self, tool, arguments, session):
        if session in sessions:
            sessions[session] -= 1
        if tool == "whoami":
            credentials = self.headers.get("authorization")
            token = (credentials or "").removeprefix("Bearer ")
            if token in tokens:
                tokens[token] -= 1
            scope = asked[-1].get("scope") if asked else None
            return text(f"{credentials}, token {len(tokens)}, scope {scope}, session {session}")
        if decoded(self.headers.get("mcp-param-region")) != arguments.get("region") or "mcp-param-plain" in self.headers:
            return text(f"the header says {self.headers.get('mcp-param-region')}", True)
        return text(f"found in {arguments.get('region')}")

    def error(self, message, code, words):
        self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": words}})


server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
if "cert" in FILES:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FILES["cert"], FILES["key"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
