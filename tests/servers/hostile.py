#!/usr/bin/env python3
"""A small MCP server (2025-11-25, stdio) that misbehaves in exactly one way: `hostile.py MODE [NUMBER]`.

Without a mode, or with `correct`, it does everything right: that is `little.py`. Every other mode is one function below,
which changes one thing of the correct server and says in its first line what. Needs nothing but Python.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
from little import TOOLS, Refused, Server, structured, text  # noqa: E402

MODES = {}


def mode(change):
    """Registers a mode under its function's name."""
    MODES[change.__name__.replace("_", "-")] = change
    return change


def note(words):
    """Writes to standard error."""
    print(words, file=sys.stderr, flush=True)


def hang():
    while True:
        time.sleep(60)


@mode
def correct(server):
    """Is correct."""


# Starting and ending.


@mode
def exits_at_start(server):
    """Exits before its first message."""
    note("error: the settings file /etc/demo.toml is missing")
    sys.exit(3)


@mode
def missing_dependency(server):
    """Exits like Python when a package is missing, with a fixed text."""
    note('Traceback (most recent call last):\n  File "server.py", line 3, in <module>\n    import fastmcp')
    note("ModuleNotFoundError: No module named 'fastmcp'")
    sys.exit(1)


@mode
def hangs_at_start(server):
    """Starts and sends nothing."""
    hang()


@mode
def slow_start(server):
    """Needs two seconds before it reads anything."""
    time.sleep(2)


@mode
def legacy_strict(server):
    """Exits if the first message is not `initialize`, like some old servers."""
    receive = server.receive

    def receive_first(message):
        if message["method"] != "initialize":
            note("error: received request before initialization was complete")
            sys.exit(1)
        server.receive = receive
        receive(message)

    server.receive = receive_first


@mode
def ignores_eof(server):
    """Ignores the end of its input and SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server.at_end = hang


@mode
def spawns_child(server):
    """Leaves a child process that keeps its output open."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)


@mode
def stderr_flood(server):
    """Writes a mebibyte to standard error before every answer."""

    def reply(request, answer):
        for _ in range(1024):
            note("w" * 1023)
        return [answer]

    server.reply = reply


# In a list or a call.


@mode
def hangs_at_tools_list(server):
    """Never answers `tools/list`."""
    server.list_tools = lambda params: hang()


@mode
def cursor_loop(server):
    """Repeats the same cursor after every page."""
    server.list_tools = lambda params: {"tools": TOOLS, "nextCursor": "again"}


@mode
def paginated(server):
    """Lists its tools on three pages, which is allowed."""
    pages = {None: (0, 2, "2"), "2": (2, 3, "3"), "3": (3, 4, None)}

    def list_tools(params):
        first, last, following = pages[params.get("cursor")]
        page = {"tools": TOOLS[first:last]}
        return {**page, "nextCursor": following} if following else page

    server.list_tools = list_tools


@mode
def hangs_in_call(server):
    """Never answers a call."""
    server.call_tool = lambda name, arguments: hang()


def end_in_call(server, end):
    def reply(request, answer):
        if server.calls < server.number:
            return [answer]
        note("fatal: out of memory")
        end()

    server.reply = reply


@mode
def dies_in_call(server):
    """Exits with status 7 in call NUMBER."""
    end_in_call(server, lambda: os._exit(7))


@mode
def killed_in_call(server):
    """Is killed in call NUMBER, as if memory ran out."""
    end_in_call(server, lambda: os.kill(os.getpid(), signal.SIGKILL))


@mode
def closes_stdout_but_lives(server):
    """Closes its output during a call and keeps reading."""

    def reply(request, answer):
        os.close(1)
        hang()

    server.reply = reply


@mode
def fails_once(server):
    """Refuses the first call and serves the others."""
    correct_call = server.call_tool

    def call_tool(name, arguments):
        if server.calls == 1:
            raise Refused("Still warming up, call `echo` again.")
        return correct_call(name, arguments)

    server.call_tool = call_tool


# What is written.


@mode
def lists_twice(server):
    """Lists one tool on two pages."""
    pages = {None: (0, 3, "2"), "2": (2, 4, None)}

    def list_tools(params):
        first, last, following = pages[params.get("cursor")]
        page = {"tools": TOOLS[first:last]}
        return {**page, "nextCursor": following} if following else page

    server.list_tools = list_tools


@mode
def junk_once(server):
    """Prints a banner to standard output before the handshake."""
    server.write(b"Hostile MCP server listening on stdio")


@mode
def junk_between(server):
    """Logs to standard output between answers."""
    server.reply = lambda request, answer: [b"[info] a call came in", answer]


@mode
def junk_forever(server):
    """Writes only log lines."""
    while True:
        server.write(b"[debug] still warming up")


@mode
def notifies_forever(server):
    """Sends only valid notifications."""
    # Log messages may come before the answer to `initialize`, which does not come in every session.
    log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "warming up"}}
    batch = b"\n".join([json.dumps(log).encode()] * 1000)
    while True:
        server.write(batch)


@mode
def wrong_id(server):
    """Answers calls with an unknown id."""
    server.reply = lambda request, answer: [{**answer, "id": 99}]


@mode
def id_as_text(server):
    """Answers calls with the id as text."""
    server.reply = lambda request, answer: [{**answer, "id": str(answer["id"])}]


@mode
def answers_twice(server):
    """Answers every call twice."""
    server.reply = lambda request, answer: [answer, answer]


@mode
def result_and_error(server):
    """Answers calls with a result and an error at once."""
    server.reply = lambda request, answer: [{**answer, **server.error(-32000, "or not")}]


@mode
def no_jsonrpc(server):
    """Omits `jsonrpc` in its answers to calls."""
    server.reply = lambda request, answer: [json.dumps(answer).encode()]


@mode
def huge_line(server):
    """Answers `echo` with 16 MiB in one line."""
    server.call_tool = lambda name, arguments: text("x" * (16 << 20))


@mode
def invalid_utf8(server):
    """Answers calls with bytes that are not UTF-8."""
    server.reply = lambda request, answer: [json.dumps({"jsonrpc": "2.0", **answer}).encode().replace(b"hello", b"h\xff\xfe")]


@mode
def lone_surrogate(server):
    """Answers calls with an unpaired UTF-16 surrogate escape."""
    server.call_tool = lambda name, arguments: text("half \ud83d of a pair")


@mode
def error_without_message(server):
    """Answers calls with an error without a message."""
    server.reply = lambda request, answer: [{"id": answer["id"], "error": {"code": -32000}}]


@mode
def notification_with_id(server):
    """Sends notifications with an id."""
    log = {"id": None, "method": "notifications/called", "params": {}}
    server.reply = lambda request, answer: [log, answer]


@mode
def server_request(server):
    """Sends the undeclared request `sampling/createMessage`, and answers the call after the reply."""
    waiting = []

    def reply(request, answer):
        waiting.append(answer)
        prompt = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5}
        return [{"id": f"s{server.calls}", "method": "sampling/createMessage", "params": prompt}]

    server.reply = reply
    server.on_other = lambda message: server.write(waiting.pop(0)) if "method" not in message else None


HOSTILE_TEXT = (
    "<script>alert(1)</script> & ]]> <!-- \x00 \x1b[31mred\x1b[0m \x1b]0;title\x07 \x08\x7f\x9b1m "
    "\u202etxet\u202c \u2066isolated\u2069 \ufffe `tick` ${HOME} {{ id }} ::error::injected"
)


@mode
def hostile_text(server):
    """Sends markup, control characters and overrides of the text direction."""

    def call_tool(name, arguments):
        if name == "add":
            raise Refused(HOSTILE_TEXT)
        return text(HOSTILE_TEXT)

    server.call_tool = call_tool


def forms_of(secret):
    """Every form in which values travel."""
    raw = secret.encode()
    encoded = [base64.b64encode(raw), base64.urlsafe_b64encode(raw), base64.b64encode(b"x:" + raw), base64.b64encode(b"user:" + raw)]
    quoted = [urllib.parse.quote(secret, safe=""), urllib.parse.quote(secret), json.dumps(secret), json.dumps(json.dumps(secret))]
    return " ".join([secret, raw.hex(), *quoted, *[form.decode() for form in encoded]])


@mode
def tells_secrets(server):
    """Repeats the secret TOKEN in every form: in results, errors, log lines and on standard error."""
    told = forms_of(os.environ.get("TOKEN", ""))
    note(f"debug: {told}")
    server.write(f"listening, {told}".encode())
    correct_call = server.call_tool

    def call_tool(name, arguments):
        note(f"debug: {arguments} {told}")
        if name == "add":
            raise Refused(told)
        return {**correct_call(name, arguments), **text(told)}

    def reply(request, answer):
        return [answer if server.calls != 3 else {"id": answer["id"], **server.error(-32000, told)}]

    server.call_tool, server.reply = call_tool, reply


# What is accepted.


@mode
def accepts_anything(server):
    """Serves calls that it should refuse."""
    server.call_tool = lambda name, arguments: {**structured({"sum": 5, "id": "u1", "name": "Ann"}), **text("hello")}


@mode
def serves_malformed(server):
    """Serves requests of another version of JSON-RPC."""
    is_message = server.is_message
    server.is_message = lambda message: isinstance(message, dict) and is_message({**message, "jsonrpc": "2.0"})


# How bad input is met.


def meet_refusals(server, change):
    """Every refusal of a tool goes through a function, with the arguments."""
    correct_call = server.call_tool

    def call_tool(name, arguments):
        try:
            return correct_call(name, arguments)
        except Refused as refusal:
            return change(arguments, refusal)

    server.call_tool = call_tool


@mode
def crashes_on_bad_arguments(server):
    """Exits with status 1 and a stack trace at wrong arguments."""

    def crash(arguments, refusal):
        note('Traceback (most recent call last):\n  File "server.py", line 12, in call\nTypeError: unsupported operand')
        os._exit(1)

    meet_refusals(server, crash)


@mode
def ends_after_refusal(server):
    """Refuses a call, and exits at the next request."""
    correct_hear, refused = server.hear, []

    def reply(request, answer):
        refused.extend(["isError"] * ("isError" in answer.get("result", {})))
        return [answer]

    def hear(line):
        if refused:
            note("fatal: the worker is gone")
            os._exit(1)
        correct_hear(line)

    server.reply, server.hear = reply, hear


@mode
def hangs_on_nothing(server):
    """Never answers a call without arguments."""
    server.reply = lambda request, answer: [answer] if request["params"].get("arguments") else []


@mode
def refuses_without_words(server):
    """Refuses calls with an empty text."""
    meet_refusals(server, lambda arguments, refusal: {**text(""), "isError": True})


@mode
def refuses_with_stack(server):
    """Refuses calls with a stack trace."""
    trace = 'Traceback (most recent call last):\n  File "/srv/server.py", line 12, in call\nKeyError: '
    meet_refusals(server, lambda arguments, refusal: {**text(f"{trace}{refusal}"), "isError": True})


@mode
def breaks_on_bad_arguments(server):
    """Answers wrong arguments with the error -32603."""

    def reply(request, answer):
        is_refusal = "isError" in answer.get("result", {})
        return [{"id": answer["id"], **server.error(-32603, "Internal error")} if is_refusal else answer]

    server.reply = reply


@mode
def dies_of_broken_json(server):
    """Exits at a line that is not JSON."""

    def hear(line):
        try:
            json.loads(line)
        except ValueError:
            note("fatal: unexpected end of input")
            os._exit(1)
        correct_hear(line)

    correct_hear, server.hear = server.hear, hear


@mode
def text_diverges(server):
    """Returns different sums in the text and in the structured content of `add`."""
    correct_call = server.call_tool

    def call_tool(name, arguments):
        result = correct_call(name, arguments)
        return {**result, **text('{"sum": 0.5}')} if name == "add" else result

    server.call_tool = call_tool


@mode
def refuses_everything(server):
    """Refuses every call, including valid ones."""

    def call_tool(name, arguments):
        raise Refused("The service is closed.")

    server.call_tool = call_tool


@mode
def lists_nothing(server):
    """Declares tools, but lists none."""
    server.list_tools = lambda params: {"tools": []}


@mode
def wrong_structured(server):
    """Breaks the output schema of `add`."""
    correct_call = server.call_tool

    def call_tool(name, arguments):
        result = correct_call(name, arguments)
        return {**text("5"), "structuredContent": {"sum": "five"}} if name == "add" else result

    server.call_tool = call_tool


def main(name="correct", number="1"):
    if name == "--modes":
        return print("\n".join(f"{name}\t{change.__doc__.splitlines()[0]}" for name, change in MODES.items()))
    if name not in MODES:
        sys.exit(f"hostile.py: there is no mode `{name}`; the modes are {', '.join(MODES)}")
    # Whoever stops listening ends this server without a word about it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    server = Server(int(number))
    MODES[name](server)
    server.serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
