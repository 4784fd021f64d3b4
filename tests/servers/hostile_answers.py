"""Modes of `hostile_http.py` that misbehave at the start, in the connection, in statuses, or in bodies."""

import gzip
import os
import signal
import socket
import sys
import threading
import time

from hostile import HOSTILE_TEXT, forms_of, note
from http_modes import HTML, body_of, mode, strike
from little import text
from little_http import hang, receive

GATEWAY = b"<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>"


@mode
def correct(server):
    """Is correct, in event streams."""


@mode
def correct_json(server):
    """Is correct, in JSON."""
    server.reply = lambda exchange, answer: exchange.json(answer)


@mode
def without_sessions(server):
    """Gives out no session id, which is allowed."""
    server.new_session = lambda: None


# Starting and ending.


@mode
def exits_at_start(server):
    """Exits before it listens."""

    def give_up():
        note("error: the settings file /etc/demo.toml is missing")
        sys.exit(3)

    server.before_listening = give_up


@mode
def never_listens(server):
    """Never opens its port."""
    server.before_listening = hang


@mode
def listens_late(server):
    """Opens its port after a second, which is allowed."""
    server.before_listening = lambda: time.sleep(1)


@mode
def ignores_sigterm(server):
    """Ignores SIGTERM."""
    server.before_listening = lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)


@strike
def dies(exchange, answer):
    """Exits with status 7 instead of answering."""
    note("fatal: out of memory")
    os._exit(7)


# The connection.


@mode
def hangs_up(server):
    """Closes every connection at once."""
    server.on_connection = lambda connection: connection.close()


@mode
def speaks_ssh(server):
    """Answers every request with the greeting of SSH."""

    def greet(exchange):
        exchange.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        hang()

    server.on_post = greet


@strike
def resets_before_headers(exchange, answer):
    """Resets the connection instead of answering."""
    exchange.reset()


@strike
def closes_before_headers(exchange, answer):
    """Closes the connection instead of answering."""
    exchange.close()


@strike
def resets_after_headers(exchange, answer):
    """Resets the connection after the head of an answer."""
    exchange.head(200, {"Content-Type": "application/json", "Content-Length": len(body_of(answer))})
    exchange.reset()


@strike
def silent(exchange, answer):
    """Never answers."""
    hang()


@strike
def silent_after_headers(exchange, answer):
    """Sends only the head of an answer."""
    exchange.head(200, {"Content-Type": "application/json", "Content-Length": len(body_of(answer))})
    hang()


@strike
def trickles(exchange, answer):
    """Sends its answer byte by byte, and never the last one."""
    exchange.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
    for byte in body_of(answer)[:-1]:
        exchange.chunk(bytes([byte]))
    while True:
        exchange.chunk(b" ")
        time.sleep(0.02)


@mode
def closes_each_time(server):
    """Closes the connection after every answer without announcing it, which is allowed."""
    respond = server.on_post

    def post(exchange):
        # The last bytes of the answer and the end of the connection travel in one segment.
        exchange.connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, "TCP_CORK", 4), 1)
        respond(exchange)
        exchange.close()

    server.on_post = post


@mode
def says_close(server):
    """Announces that it closes the connection after every answer, which is allowed."""
    respond = server.on_post

    def post(exchange):
        exchange.extra["Connection"] = "close"
        respond(exchange)
        exchange.close()

    server.on_post = post


@strike
def bytes_one_by_one(exchange, answer):
    """Sends its answer in a segment for each byte, which is allowed."""
    sent, exchange.write = exchange.write, lambda data: [sent(bytes([byte])) for byte in data]
    exchange.json(answer)


# Statuses.


def status(code, about, body=b"", kind="text/plain", **headers):
    def answer_with_status(exchange, answer):
        """Answers with the status."""
        exchange.send(code, body, kind if body else "", **headers)

    answer_with_status.__name__ = f"status_{code}"
    answer_with_status.__doc__ = f"Answers {about}."
    strike(answer_with_status)


status(202, "202 without a message")
status(204, "204 without a body")
status(400, "400 with text", b"bad request")
status(401, "401", www_authenticate='Bearer resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource"')
status(403, "403", b"forbidden")
status(404, "404 with a page", b"<h1>Not Found</h1>", "text/html")
status(405, "405", allow="GET")
status(406, "406", b"not acceptable")
status(415, "415", b"unsupported media type")
status(429, "429 with `Retry-After: 120`", b"slow down", retry_after="120")
status(500, "500 with text", b"internal server error")
status(502, "502 with a gateway's page", GATEWAY, "text/html")
status(503, "503 with `Retry-After: 1`", b"starting", retry_after="1")
status(999, "with the invalid status 999", b"what now?")


@strike
def error_with_500(exchange, answer):
    """Answers 500 with a JSON-RPC error."""
    error = {"code": -32603, "message": "the database is locked"}
    exchange.json({"jsonrpc": "2.0", "id": answer["id"], "error": error}, 500)


@mode
def redirects_in_a_loop(server):
    """Answers 307 to itself, from its second call on."""
    reply = server.reply

    def redirect(exchange, answer):
        if exchange.call < 2 and server.at == "call":
            return reply(exchange, answer)
        exchange.send(307, location="/mcp")

    server.reply = redirect


@mode
def redirects_elsewhere(server):
    """Answers 307 to another origin, which logs its requests to the file `elsewhere.txt`."""
    elsewhere = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/mcp"

    def listen():
        while True:
            exchange = receive(elsewhere.accept()[0], bytearray())
            with open("elsewhere.txt", "a", encoding="utf-8") as file:
                file.write(f"{exchange.method} {exchange.headers} {exchange.body!r}\n")
            exchange.send(404)

    threading.Thread(target=listen, daemon=True).start()
    server.strike = lambda exchange, answer: exchange.send(307, location=address)


@strike
def informs_forever(exchange, answer):
    """Sends only 103 early hints."""
    while True:
        exchange.write(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n")
        time.sleep(0.02)


# Bodies.


@strike
def page_with_200(exchange, answer):
    """Answers with a page of HTML."""
    exchange.send(200, HTML, "text/html")


@strike
def page_as_json(exchange, answer):
    """Answers with a page of HTML and calls it JSON."""
    exchange.send(200, HTML, "application/json")


@strike
def json_without_rpc(exchange, answer):
    """Answers with JSON that is not JSON-RPC."""
    exchange.json({"status": "ok"})


@strike
def json_batch(exchange, answer):
    """Answers with a list around the correct answer."""
    exchange.json([answer])


@strike
def wrong_content_type(exchange, answer):
    """Sends its correct answer as plain text."""
    exchange.send(200, body_of(answer), "text/plain")


@strike
def no_content_type(exchange, answer):
    """Sends its correct answer without a content type."""
    exchange.send(200, body_of(answer))


@strike
def empty_200(exchange, answer):
    """Answers 200 with nothing."""
    exchange.send(200, b"", "application/json")


@strike
def starts_with_bom(exchange, answer):
    """Sends a byte order mark before its correct answer."""
    exchange.send(200, b"\xef\xbb\xbf" + body_of(answer), "application/json")


@strike
def not_text(exchange, answer):
    """Answers with bytes that are not UTF-8."""
    exchange.send(200, body_of(answer).replace(b'"jsonrpc"', b'"h\xff\xfe": 1, "jsonrpc"'), "application/json")


@strike
def wrong_id(exchange, answer):
    """Answers with an unknown id."""
    exchange.json({**answer, "id": 99})


@strike
def length_too_long(exchange, answer):
    """Declares a longer body than it sends, and closes the connection."""
    exchange.head(200, {"Content-Type": "application/json", "Content-Length": len(body_of(answer)) + 10})
    exchange.write(body_of(answer))
    exchange.close()


@strike
def length_too_short(exchange, answer):
    """Sends a longer body than it declared."""
    exchange.head(200, {"Content-Type": "application/json", "Content-Length": len(body_of(answer)) - 10})
    exchange.write(body_of(answer))


@strike
def two_lengths(exchange, answer):
    """Declares two different lengths."""
    exchange.head(200, {"Content-Type": "application/json", "Content-Length": 5, "content-length": len(body_of(answer))})
    exchange.write(body_of(answer))


@strike
def truncated_chunk(exchange, answer):
    """Closes the connection in the middle of a chunk."""
    exchange.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
    exchange.write(b"%x\r\n%b" % (len(body_of(answer)), body_of(answer)[:-10]))
    exchange.close()


@strike
def broken_chunk(exchange, answer):
    """Sends a chunk with an invalid length."""
    exchange.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
    exchange.write(b"many\r\n" + body_of(answer) + b"\r\n0\r\n\r\n")


@strike
def gzip_where_any_coding_will_do(exchange, answer):
    """Compresses its answer for clients without `Accept-Encoding`, which is allowed."""
    if "accept-encoding" not in exchange.headers:
        return exchange.send(200, gzip.compress(body_of(answer)), "application/json", content_encoding="gzip")
    exchange.send(200, body_of(answer), "application/json")


@strike
def gzip_unasked(exchange, answer):
    """Compresses its correct answer although the client does not accept it."""
    exchange.send(200, gzip.compress(body_of(answer)), "application/json", content_encoding="gzip")


@strike
def gzip_bomb(exchange, answer):
    """Answers with a gibibyte that is compressed to one mebibyte."""
    bomb = gzip.compress(b" " * (64 << 20)) * 16
    exchange.send(200, bomb, "application/json", content_encoding="gzip")


@strike
def endless_body(exchange, answer):
    """Sends JSON that does not end."""
    exchange.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
    exchange.chunk(b'{"jsonrpc": "2.0", "result": "')
    while True:
        exchange.chunk(b"x" * (1 << 20))


@strike
def headers_of_a_mebibyte(exchange, answer):
    """Sends a header of a mebibyte before its correct answer."""
    exchange.send(200, body_of(answer), "application/json", x_filler="x" * (1 << 20))


@strike
def ten_thousand_headers(exchange, answer):
    """Sends ten thousand headers before its correct answer."""
    exchange.send(200, body_of(answer), "application/json", **{f"x_{number}": "x" for number in range(10_000)})


@strike
def endless_headers(exchange, answer):
    """Sends headers that do not end."""
    exchange.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        exchange.write(b"X-Filler: x\r\n" * 10_000)


@strike
def hostile_page(exchange, answer):
    """Answers 500 with markup, control characters and overrides of the text direction."""
    exchange.send(500, HOSTILE_TEXT.encode(), "text/html")


@strike
def hostile_headers(exchange, answer):
    """Sends control characters in a header."""
    exchange.send(401, b"", "", www_authenticate="Bearer \x1b[31mred\x9b1m")


@mode
def tells_secrets(server):
    """Repeats the client's credentials in every form: in results, errors, headers, statuses and on standard error."""

    def reply(exchange, answer):
        told = forms_of(exchange.headers.get("authorization", "").removeprefix("Bearer "))
        note(f"debug: {told}")
        exchange.extra["X-Debug"] = told
        if exchange.call == 2:
            return exchange.send(500, told.encode(), "text/plain")
        if exchange.call == 3:
            return exchange.json({"jsonrpc": "2.0", "id": answer["id"], "error": {"code": -32000, "message": told}})
        if exchange.call:
            answer["result"] = {**answer["result"], **text(told)}
        exchange.json(answer)

    server.reply = reply
