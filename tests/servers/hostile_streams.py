"""Modes of `hostile_http.py` that misbehave in event streams, in sessions, or against the rules of an era."""

import time

from http_modes import HTML, body_of, mode, strike
from little_http import MODERN, event, hang, refusal

LOG = {"jsonrpc": "2.0", "method": "notifications/warming-up", "params": {"data": "still warming up"}}


# Streams that are right.


@strike
def events_split_at_every_byte(exchange, answer):
    """Sends its stream in a chunk for each byte, which is allowed."""
    exchange.stream(*[bytes([byte]) for byte in event(answer)])


@strike
def crlf_events(exchange, answer):
    """Ends the lines of its stream with CR and LF, in separate chunks, which is allowed."""
    lines = event(answer).split(b"\n")[:-1]
    exchange.stream(*[part for line in lines for part in (line + b"\r", b"\n")])


@strike
def cr_events(exchange, answer):
    """Ends the lines of its stream with CR, which is allowed."""
    exchange.stream(event(answer).replace(b"\n", b"\r"))


@strike
def bom_in_stream(exchange, answer):
    """Begins its stream with a byte order mark, which is allowed."""
    exchange.stream(b"\xef\xbb\xbf" + event(answer))


@strike
def odd_events(exchange, answer):
    """Sends comments, unknown fields, an empty event, and data on two lines in its stream, which is allowed."""
    first, second = body_of(answer)[:1], body_of(answer)[1:]
    odd = b": a comment\n\nid: 1\ndata:\n\nunknown: field\nno colon\nid: nul\0\n\n"
    exchange.stream(odd + b"data:" + first + b"\ndata: " + second + b"\n\n")


@strike
def retry_0(exchange, answer):
    """Sends `retry: 0`, and answers."""
    exchange.stream(b"retry: 0\n\n" + event(answer))


@strike
def retry_huge(exchange, answer):
    """Sends a `retry` of a million years, and answers."""
    exchange.stream(b"retry: 99999999999999999999\n\n" + event(answer))


@strike
def notifies_first(exchange, answer):
    """Sends a notification before its answer, which is allowed."""
    exchange.stream(event(LOG), event(answer))


@strike
def stays_open(exchange, answer):
    """Answers without ending the stream."""
    exchange.begin()
    exchange.chunk(event(answer))
    hang()


@strike
def cut_after_answer(exchange, answer):
    """Answers and closes the connection without ending the stream."""
    exchange.begin()
    exchange.chunk(event(answer))
    exchange.close()


# Streams that are wrong.


@strike
def cut_in_event(exchange, answer):
    """Closes the connection in the middle of an event."""
    exchange.begin()
    exchange.chunk(event(answer)[:-20])
    exchange.close()


@strike
def ends_in_event(exchange, answer):
    """Ends its stream in the middle of an event."""
    exchange.stream(event(answer)[:-20])


@strike
def ends_without_blank_line(exchange, answer):
    """Ends its stream before the blank line that completes the event."""
    exchange.stream(event(answer)[:-1])


@strike
def comments_only(exchange, answer):
    """Ends a stream that holds nothing but comments."""
    exchange.stream(b": still here\n\n" * 10)


@strike
def comments_forever(exchange, answer):
    """Sends only comments."""
    exchange.begin()
    while True:
        exchange.chunk(b": still here\n\n")
        time.sleep(0.02)


@strike
def notifies_forever(exchange, answer):
    """Sends only valid notifications."""
    exchange.begin()
    while True:
        exchange.chunk(event(LOG) * 1000)


@strike
def endless_event(exchange, answer):
    """Sends an event that does not end."""
    exchange.begin()
    exchange.chunk(b"data: ")
    while True:
        exchange.chunk(b"x" * (1 << 20))


@strike
def junk_event(exchange, answer):
    """Sends an event that is not JSON, and then its answer."""
    exchange.stream(b"data: [info] a call came in\n\n", event(answer))


@strike
def unknown_event(exchange, answer):
    """Sends its answer as an event with another name."""
    exchange.stream(event(answer, "result"))


@strike
def answers_twice(exchange, answer):
    """Answers twice."""
    exchange.stream(event(answer), event(answer))


@strike
def id_as_text(exchange, answer):
    """Answers with the id as text."""
    exchange.stream(event({**answer, "id": str(answer["id"])}))


@strike
def server_request(exchange, answer):
    """Sends the undeclared request `sampling/createMessage`, and then answers."""
    prompt = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5}
    exchange.stream(event({"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage", "params": prompt}), event(answer))


# Streams that are taken up again.


@mode
def resumes(server):
    """Closes its stream before it answers, and answers after the reconnection, which is allowed."""
    resumable(server, lambda exchange, answer: exchange.stream(b"id: e2\n" + event(answer)))


@mode
def resumes_never(server):
    """Closes its stream before it answers, after every reconnection."""
    resumable(server, lambda exchange, answer: exchange.stream(b"id: e1\nretry: 0\ndata:\n\n"))


@mode
def forgets_streams(server):
    """Closes its stream before it answers, and does not resume it."""
    resumable(server, lambda exchange, answer: exchange.send(400, b"unknown event id", "text/plain"))


def resumable(server, come_back):
    waiting = []
    open_stream = server.on_get

    def leave(exchange, answer):
        waiting.append(answer)
        exchange.stream(b"id: e1\nretry: 0\ndata:\n\n")

    def get(exchange):
        if "last-event-id" not in exchange.headers:
            return open_stream(exchange)
        come_back(exchange, waiting[-1])

    server.strike, server.on_get = leave, get


# Sessions.


@mode
def session_lost(server):
    """Forgets the session before its second call, once, and answers 404."""
    post = server.on_post

    def forget(exchange):
        if server.little.calls == 1 and b"tools/call" in exchange.body and "another" not in server.sessions:
            server.sessions = {"another"}
        post(exchange)

    server.on_post = forget


@mode
def sessions_always_lost(server):
    """Forgets every session at once, and answers 404."""
    notified = server.on_notification

    def forget(exchange, message):
        server.sessions = {"another"}
        notified(exchange, message)

    server.on_notification = forget


@mode
def odd_session_id(server):
    """Gives out a session id with every allowed character, which is allowed."""
    odd = "".join(map(chr, range(0x21, 0x7F)))
    server.new_session = lambda: odd


@mode
def bad_session_id(server):
    """Gives out a session id with a space and a byte that is not UTF-8."""
    server.new_session = lambda: "one two \xff"


@mode
def huge_session_id(server):
    """Gives out a session id of 64 KiB."""
    server.new_session = lambda: "s" * (64 << 10)


@mode
def session_id_changes(server):
    """Names another session in its answers to calls, and continues the old one."""
    reply = server.reply

    def rename(exchange, answer):
        if exchange.call:
            exchange.extra["Mcp-Session-Id"] = f"changed-{exchange.call}"
        reply(exchange, answer)

    server.reply = rename


@mode
def notifications_refused(server):
    """Answers 400 to notifications."""
    server.on_notification = lambda exchange, message: exchange.send(400, b"what is that?", "text/plain")


@mode
def notifications_answered(server):
    """Answers notifications with 200 and a JSON-RPC error."""
    server.on_notification = lambda exchange, message: exchange.json(refusal(None, {"error": {"code": -1, "message": "what?"}}))


@mode
def get_refused(server):
    """Answers 405 to GET, which is allowed."""
    server.on_get = lambda exchange: exchange.send(405, allow="POST, DELETE")


@mode
def get_page(server):
    """Answers GET with a page of HTML."""
    server.on_get = lambda exchange: exchange.send(200, HTML, "text/html")


@mode
def get_silent(server):
    """Never answers GET."""
    server.on_get = lambda exchange: hang()


@mode
def get_ends(server):
    """Ends the stream of GET at once, with `retry: 0`."""
    server.on_get = lambda exchange: exchange.stream(b"retry: 0\n\n")


@mode
def get_floods(server):
    """Sends notifications without end on the stream of GET."""
    server.on_get = lambda exchange: notifies_forever_on(exchange)


def notifies_forever_on(exchange):
    exchange.begin()
    while True:
        exchange.chunk(event(LOG) * 1000)


@mode
def delete_refused(server):
    """Answers 405 to DELETE, which is allowed."""
    server.on_delete = lambda exchange: exchange.send(405, allow="POST, GET")


@mode
def delete_silent(server):
    """Never answers DELETE."""
    server.on_delete = lambda exchange: hang()


@mode
def delete_fails(server):
    """Answers 500 to DELETE."""
    server.on_delete = lambda exchange: exchange.send(500, b"no", "text/plain")


# Eras.


@mode
def speaks_tomorrow(server):
    """Speaks only an unknown revision."""
    supported = {"supported": ["2031-01-01"], "requested": MODERN}
    error = {"code": -32022, "message": "Unsupported protocol version", "data": supported}

    def post(exchange):
        exchange.json(refusal(1, {"error": error}), 400)

    server.on_post = post


@strike
def unknown_method_with_200(exchange, answer):
    """Answers that the method is unknown, with the status 200."""
    exchange.json(refusal(answer["id"], {"error": {"code": -32601, "message": "Method not found"}}))


@strike
def no_result_type(exchange, answer):
    """Omits `resultType` in a result."""
    exchange.json({**answer, "result": {name: value for name, value in answer["result"].items() if name != "resultType"}})
