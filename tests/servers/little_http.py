"""The server of `little.py` over streamable HTTP, in both eras, with everything right; Python's standard library only.

2025-11-25 and before: `initialize`, a session id, a stream for GET, DELETE at the end. 2026-07-28: `server/discover`, checked
headers, results that say what they are. Answers are event streams. Whoever wants something else replaces one of the
hooks of `HttpServer`.
"""

import base64
import json
import os
import signal
import socket
import stat
import sys
import threading
import time
from http import HTTPStatus

from little import Server

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26")
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
IDENTITY = {"name": "hostile", "version": "1.0.0"}
REASONS = {status.value: status.phrase for status in HTTPStatus}


def hang():
    while True:
        time.sleep(60)


def event(message, name="message"):
    """One event of a stream."""
    return f"event: {name}\ndata: {json.dumps(message)}\n\n".encode()


def error(code, words, data=None):
    problem = {"code": code, "message": words}
    return {"error": {**problem, "data": data} if data else problem}


class Gone(Exception):
    """The client closed the connection."""


class Exchange:
    """One request, and the connection that the answer goes to."""

    def __init__(self, connection, method, path, headers, body):
        self.connection, self.method, self.path, self.headers, self.body = connection, method, path, headers, body
        # Added to whatever head is written.
        self.extra = {}
        # The number of this call, where it is one.
        self.call = 0

    def write(self, data):
        self.connection.sendall(data)

    def head(self, status, headers):
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Odd')}"]
        lines += [f"{name}: {value}" for name, value in {**headers, **self.extra}.items()]
        self.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def send(self, status, body=b"", kind="", **headers):
        """A whole answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        length = {} if status == 204 else {"Content-Length": len(body)}
        self.head(status, {**({"Content-Type": kind} if kind else {}), **length, **named})
        self.write(body)

    def json(self, message, status=200):
        self.send(status, json.dumps(message).encode(), "application/json")

    def begin(self):
        """The head of a stream."""
        self.head(200, {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "Transfer-Encoding": "chunked"})

    def chunk(self, data):
        self.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self):
        self.write(b"0\r\n\r\n")

    def stream(self, *parts):
        """A whole stream."""
        self.begin()
        for part in parts:
            self.chunk(part)
        self.end()

    def reset(self):
        """Ends the connection the rude way."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.connection.close()
        raise Gone

    def close(self):
        self.connection.close()
        raise Gone


class HttpServer:
    """The correct server; a mode replaces what it wants to break."""

    def __init__(self, era="both", at="call"):
        self.era, self.at = era, at
        self.little = Server(1)
        self.sessions = set()
        self.posts = 0
        # The hooks.
        self.before_listening = lambda: None
        self.on_connection = lambda connection: None
        self.on_post = self.post
        self.on_get = self.open_stream
        self.on_delete = self.end_session
        self.on_notification = lambda exchange, message: exchange.send(202)
        self.new_session = lambda: os.urandom(8).hex()
        self.reply = lambda exchange, answer: exchange.stream(event(answer))
        # In place of `reply`, for the second call, also when it is made again, or for everything.
        self.strike = None
        self.second = None

    # Connections.

    def listen(self, port, tls):
        self.before_listening()
        with socket.create_server(("127.0.0.1", port), backlog=64) as listener:
            while True:
                connection = listener.accept()[0]
                threading.Thread(target=self.serve, args=(connection, tls), daemon=True).start()

    def serve(self, connection, tls):
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls:
                connection = tls.wrap_socket(connection, server_side=True)
            self.on_connection(connection)
            buffer = bytearray()
            while True:
                self.route(receive(connection, buffer))
        except (Gone, OSError):
            connection.close()

    def route(self, exchange):
        origin = exchange.headers.get("origin", "http://127.0.0.1")
        handlers = {"POST": self.on_post, "GET": self.on_get, "DELETE": self.on_delete}
        if exchange.path != "/mcp":
            exchange.send(404)
        elif origin.split("://")[-1].split(":")[0] not in ("127.0.0.1", "localhost"):
            exchange.send(403)
        elif exchange.method not in handlers:
            exchange.send(405, allow="POST, GET, DELETE")
        else:
            handlers[exchange.method](exchange)

    # Messages.

    def post(self, exchange):
        self.posts += 1
        accept = exchange.headers.get("accept", "")
        if not ("application/json" in accept and "text/event-stream" in accept or "*/*" in accept):
            return exchange.json(refusal(None, error(-32000, "Not Acceptable: accept JSON and event streams")), 406)
        if not exchange.headers.get("content-type", "").startswith("application/json"):
            return exchange.json(refusal(None, error(-32000, "Unsupported Media Type: send JSON")), 415)
        try:
            message = json.loads(exchange.body)
        except ValueError:
            return exchange.json(refusal(None, error(-32700, "Parse error")), 400)
        if not isinstance(message, dict):
            return exchange.json(refusal(None, error(-32600, "Batches are not supported")), 400)
        problem = self.problem(exchange, message)
        if problem:
            status, why = problem
            return exchange.json(refusal(message.get("id"), why), status)
        if "method" not in message or "id" not in message:
            return self.on_notification(exchange, message)
        self.request(exchange, message)

    def request(self, exchange, message):
        method, modern = message["method"], is_modern(exchange, message)
        answer = refusal(message["id"], self.answer(method, message.get("params", {}), modern))
        if method == "initialize" and "result" in answer:
            session = self.new_session()
            if session is not None:
                self.sessions.add(session)
                exchange.extra["Mcp-Session-Id"] = session
        if modern and answer.get("error", {}).get("code") == -32601:
            return exchange.json(answer, 404)
        is_call = method == "tools/call"
        exchange.call = self.little.calls if is_call else 0
        if exchange.call == 2:
            self.second = message["params"]
        struck = self.strike and (self.at == "start" or is_call and message["params"] == self.second)
        (self.strike if struck else self.reply)(exchange, answer)

    def answer(self, method, params, modern):
        if not modern:
            return self.little.answer(method, params)
        if method == "server/discover":
            answer = {"result": {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}}
        elif method in ("initialize", "ping"):
            return error(-32601, "Method not found")
        else:
            answer = self.little.answer(method, params)
        if "result" in answer:
            answer["result"].update({"resultType": "complete", "_meta": {PREFIX + "serverInfo": IDENTITY}})
        if "result" in answer and method != "tools/call":
            answer["result"].update({"ttlMs": 0, "cacheScope": "private"})
        return answer

    def problem(self, exchange, message):
        """What is wrong with the headers of a message: a status and an error."""
        if is_modern(exchange, message):
            if self.era == "legacy":
                return 400, error(-32000, "Bad Request: Server not initialized")
            return header_problem(exchange, message)
        if self.era == "modern":
            return 400, error(-32022, "Unsupported protocol version", {"supported": [MODERN], "requested": "2025-11-25"})
        if exchange.headers.get("mcp-protocol-version", LEGACY[0]) not in LEGACY:
            return 400, error(-32000, "Bad Request: Unsupported protocol version")
        return None if message.get("method") == "initialize" else self.session_problem(exchange)

    def session_problem(self, exchange):
        session = exchange.headers.get("mcp-session-id")
        if self.sessions and session is None:
            return 400, error(-32000, "Bad Request: Mcp-Session-Id header is required")
        if session is not None and session not in self.sessions:
            return 404, error(-32001, "Session not found")
        return None

    # The other verbs of the older era.

    def refuses_verb(self, exchange):
        """Whether a GET or DELETE is refused."""
        if self.era == "modern":
            exchange.send(405, allow="POST")
            return True
        problem = self.session_problem(exchange)
        if problem:
            exchange.json(refusal(None, problem[1]), problem[0])
        return problem is not None

    def open_stream(self, exchange):
        if not self.refuses_verb(exchange):
            exchange.begin()
            exchange.chunk(b": nothing to say\n\n")
            hang()

    def end_session(self, exchange):
        if not self.refuses_verb(exchange):
            self.sessions.discard(exchange.headers.get("mcp-session-id"))
            exchange.send(200)


def refusal(request, answer):
    return {"jsonrpc": "2.0", "id": request, **answer}


def meta(message):
    params = message.get("params")
    found = params.get("_meta") if isinstance(params, dict) else None
    return found if isinstance(found, dict) else {}


def is_modern(exchange, message):
    return exchange.headers.get("mcp-protocol-version") == MODERN or PREFIX + "protocolVersion" in meta(message)


def header_problem(exchange, message):
    """2026-07-28: every header says what the body says."""
    params = message.get("params", {})
    version = meta(message).get(PREFIX + "protocolVersion")
    if version is None or PREFIX + "clientCapabilities" not in meta(message):
        return 400, error(-32602, "`params._meta` lacks a version or capabilities")
    wanted = {"mcp-protocol-version": version, "mcp-method": message.get("method")}
    if message.get("method") == "tools/call":
        wanted["mcp-name"] = params.get("name")
    for name, value in wanted.items():
        if decoded(exchange.headers.get(name, "")) != str(value):
            return 400, error(-32020, f"The header `{name}` is not what the body says")
    if version != MODERN:
        return 400, error(-32022, "Unsupported protocol version", {"supported": [MODERN], "requested": version})
    return None


def decoded(value):
    if value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode()
    return value


def receive(connection, buffer):
    """The next request of a connection."""

    def more():
        data = connection.recv(65536)
        if not data:
            raise Gone
        buffer.extend(data)

    def take(length):
        while len(buffer) < length:
            more()
        taken = bytes(buffer[:length])
        del buffer[:length]
        return taken

    def line():
        while b"\r\n" not in buffer:
            more()
        return take(buffer.index(b"\r\n") + 2)[:-2]

    if not buffer:
        more()
    # What is no HTTP gets an answer too, as from real servers.
    if not buffer[:1].isalpha():
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        raise Gone
    verb, path, _ = line().decode("latin-1").split(" ", 2)
    headers = {}
    while text := line().decode("latin-1"):
        name, _, value = text.partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while length := int(line().split(b";")[0], 16):
            body += take(length)
            line()
        line()
    else:
        body = take(int(headers.get("content-length", "0")))
    return Exchange(connection, verb, path, headers, body)


def secure(certificate, key):
    import ssl  # Slow to load, and seldom needed.

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def end_with_caller():
    """Ends this process with its standard input, where that is one that can end, and on SIGTERM."""
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
    kind = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return

    def watch():
        while os.read(0, 65536):
            pass
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    sys.exit("little_http.py: run `hostile_http.py correct --port N`")
