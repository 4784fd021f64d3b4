"""Keeps what it is told, under one of several sets of tools: keeper.py TOOLS STORE [PORT [MODE…]].

TOOLS: `notes` lists what was saved, `ablage` shows it under its key and has no English words, `items` shows it by an
identifier and as resources, `cards` only through a resource template, `board` tells sessions of it in notifications, `watch`
has a resource to which clients can subscribe.
STORE: `own`, one for each session; `user`, one for each bearer token; `shared`, one for all sessions; a file, one for
all processes; `silent`, `ends` or `floods`, tools that change data do not answer, end the server, or send messages for ever.
Over stdio, or with a PORT that is not empty over HTTP, where it serves every token but `unknown-user`, and none but tokens if
the store is one for each.
MODE: `modern`, 2026-07-28 without sessions, with `public` for any cache; `anonymous`, no session ids; `foreign`, serves a session to every user; `numbered`, `short` or `few`,
session ids that are counted, small, or given twice; `resumable`, answers with streams that their session can resume, with
`anybody` everyone who names an event, and with `polled` they end before the answer; `forgetful`, streams with event ids that nobody can resume; `tells-all`, updates for
all clients, `tells-on`, updates after the end of a subscription, `tells-none`, no updates; `stalls`, streams without
an answer to who asks for progress, `pours`, resumed streams without an end, `hangs-up`, no answer to who resumes one, `full`,
no answer to a fourth session; `undying`, sessions that are served after their end, `unclear`, ended ones that are answered with
400, `endless`, sessions that clients cannot end.
"""

import itertools
import json
import os
import queue
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS, STORE = sys.argv[1:3]
MODES = sys.argv[4:]
REVISION = "2026-07-28" if "modern" in MODES else "2025-11-25"
TOPIC = "topic://current"
SCOPE = "public" if "public" in MODES else "private"
MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": SCOPE} if "modern" in MODES else {}


def tool(name, *texts, **hints):
    properties = {text: {"type": "string"} for text in texts}
    schema = {"type": "object", "properties": properties, "required": list(texts)}
    return {"name": name, "inputSchema": schema, "annotations": hints}


WRITES = {"readOnlyHint": False, "destructiveHint": False}
READS = {"readOnlyHint": True}
SETS = {
    "notes": [tool("save_note", "text", **WRITES), tool("list_notes", **READS), tool("search_notes", "query", **READS)],
    "ablage": [tool("hinterlegen", "name", "wert"), tool("zeigen", "name")],
    "items": [tool("put_item", "label", **WRITES), tool("item", "item_id", **READS)],
    "cards": [tool("pin", "label", **WRITES)],
    "watch": [tool("set_topic", "text", **WRITES), tool("list_topics", **READS)],
    "board": [tool("announce", "text", **WRITES), tool("count", **READS)],
}


class Flood(Exception):
    """The answer is messages without an end."""


# Many small values take more memory than a long text.
DATA = {"level": "info", "data": [0] * 50_000}
FLOOD = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": DATA})


class Session:
    """The entries of a session, and the messages for it."""

    everybody = []
    listens = []
    kept = {}

    def __init__(self, user=""):
        self.user = user
        key = {"shared": "", "user": user}.get(STORE)
        self.entries = [] if key is None else Session.kept.setdefault(key, [])
        self.messages = queue.Queue()
        self.subscribed = set()
        self.everybody.append(self)

    def load(self):
        if "/" in STORE and os.path.exists(STORE):
            with open(STORE) as file:
                self.entries = json.load(file)
        return self.entries

    def save(self, entry):
        self.load().append(entry)
        if "/" in STORE:
            with open(STORE, "w") as file:
                json.dump(self.entries, file)

    def announce(self, text):
        data = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": text}}
        for session in self.everybody if STORE == "shared" else [self]:
            session.messages.put(data)

    def update(self):
        """Tells of a new topic whoever wants to hear of it."""
        if "tells-none" in MODES:
            return
        method, everybody = "notifications/resources/updated", "tells-all" in MODES
        for session in self.everybody if everybody else [self]:
            if not MODERN and (everybody or TOPIC in session.subscribed):
                session.messages.put({"jsonrpc": "2.0", "method": method, "params": {"uri": TOPIC}})
        for heard, tag, uris in self.listens:
            if everybody or TOPIC in uris:
                heard.put({"jsonrpc": "2.0", "method": method, "params": {"uri": TOPIC, **tag}})

    def call(self, name, arguments):
        entries = self.load()
        is_writer = name in ("save_note", "set_topic")
        if is_writer and STORE == "silent":
            time.sleep(3600)
        if is_writer and STORE == "ends":
            os._exit(3)
        if is_writer and STORE == "floods":
            raise Flood
        if name == "save_note":
            self.save({"text": arguments["text"]})
        elif name == "list_notes":
            return entries
        elif name == "search_notes":
            return [entry for entry in entries if arguments["query"] in entry["text"]]
        elif name == "hinterlegen":
            self.save({"name": arguments["name"], "wert": arguments["wert"]})
        elif name == "zeigen":
            found = [entry["wert"] for entry in entries if entry["name"] == arguments["name"]]
            return found[-1:]
        elif name in ("put_item", "pin"):
            self.save({"id": f"i{len(entries) + 1}", "label": arguments["label"]})
            return {"id": f"i{len(entries)}"} if "/" not in STORE else {"id": self.entries[-1]["id"]}
        elif name == "item":
            return [entry for entry in entries if entry["id"] == arguments["item_id"]]
        elif name == "announce":
            self.save({"text": "not kept"})
            self.announce(arguments["text"])
        elif name == "set_topic":
            self.save({"text": arguments["text"]})
            self.update()
        elif name == "list_topics":
            return entries
        elif name == "count":
            return {"entries": len(entries)}
        return {"done": True}

    def answer(self, message):
        method, params = message["method"], message.get("params", {})
        result = {}
        if method == "server/discover" and MODERN:
            offer = {"tools": {}} | ({"resources": {}} if TOOLS in ("items", "cards") else {})
            offer |= {"resources": {"subscribe": True}} if TOOLS == "watch" else {}
            result = {"supportedVersions": [REVISION], "capabilities": offer}
        elif method == "initialize":
            about = {"name": "keeper", "version": "1.0.0"}
            offer = {"tools": {}, "logging": {}} | ({"resources": {}} if TOOLS in ("items", "cards") else {})
            offer |= {"resources": {"subscribe": True}} if TOOLS == "watch" else {}
            result = {"protocolVersion": REVISION, "capabilities": offer, "serverInfo": about}
        elif method == "tools/list":
            result = {"tools": SETS[TOOLS]}
        elif method == "resources/list":
            entries = [entry for entry in self.load() if "id" in entry and TOOLS == "items"]
            result = {"resources": [{"uri": f"items://{entry['id']}", "name": entry["label"]} for entry in entries]}
            if TOOLS == "watch":
                result = {"resources": [{"uri": TOPIC, "name": "topic"}]}
        elif method == "resources/subscribe":
            self.subscribed.add(params["uri"])
        elif method == "resources/unsubscribe" and "tells-on" not in MODES:
            self.subscribed.discard(params["uri"])
        elif method == "resources/templates/list":
            cards = {"uriTemplate": "items://{item_id}", "name": "card"}
            result = {"resourceTemplates": [cards] if TOOLS == "cards" else []}
        elif method == "resources/read":
            uri = params["uri"]
            found = [entry for entry in self.load() if uri == f"items://{entry.get('id')}"]
            result = {"contents": [{"uri": uri, "text": json.dumps(found)}]}
        elif method == "tools/call":
            said = self.call(params["name"], params.get("arguments", {}))
            result = {"content": [{"type": "text", "text": json.dumps(said)}]}
        elif method == "server/discover":
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result | MODERN}


class Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = {}
    ended = set()
    events = []

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        if {"anonymous", "endless"} & set(MODES):
            return self.reply(405)
        if "undying" not in MODES:
            self.ended.add(self.headers["Mcp-Session-Id"])
        self.reply(200)

    def send_events(self, number, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number, text in enumerate(events, number):
            self.wfile.write(f"id: {number}\ndata: {text}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def reply_events(self, number, events):
        body = "".join(f"id: {at}\ndata: {text}\n\n" for at, text in enumerate(events, number))
        self.reply(200, body.encode(), [("Content-Type", "text/event-stream")])

    def stream(self, name, answer):
        """Sends an event without a message, then the answer: whoever loses the connection between them can go on."""
        self.events += [(name, ""), (name, json.dumps(answer))]
        self.reply_events(len(self.events) - 2, [""] if "polled" in MODES else ["", json.dumps(answer)])

    def resume(self, last):
        name, answer = self.events[last + 1] if last % 2 == 0 and last < len(self.events) else (None, None)
        if name is None or name != self.headers["Mcp-Session-Id"] and "anybody" not in MODES:
            return self.reply(404)
        self.reply_events(last + 1, [answer])

    def do_GET(self):
        if "anonymous" in MODES:
            return self.reply(405)
        if "Last-Event-ID" in self.headers and "resumable" in MODES:
            if "hangs-up" in MODES:
                return self.connection.close()
            if "pours" in MODES:
                return self.send_events(0, itertools.repeat(FLOOD))
            return self.resume(int(self.headers["Last-Event-ID"]))
        self.send_messages(self.sessions[self.headers["Mcp-Session-Id"]].messages)

    def send_messages(self, messages):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(f"data: {json.dumps(messages.get())}\n\n".encode())
        except OSError:
            pass

    def listen(self, message):
        uris = message["params"]["notifications"].get("resourceSubscriptions", [])
        tag = {"_meta": {"io.modelcontextprotocol/subscriptionId": message["id"]}}
        heard = queue.Queue()
        accepted = {"notifications": {"resourceSubscriptions": uris} if uris else {}, **tag}
        heard.put({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": accepted})
        Session.listens.append((heard, tag, uris))
        self.send_messages(heard)

    def new_id(self):
        if "numbered" in MODES:
            return f"session-{len(self.sessions)}"
        if "short" in MODES:
            place = len(self.sessions) * 29 % 64
            return "kqxmzrty"[place // 8] + "ghjnpsvw"[place % 8]
        return f"{len(self.sessions) % 7:032}" if "few" in MODES else str(uuid.uuid4())

    def do_POST(self):
        try:
            self.post()
        except Flood:
            self.send_events(0, itertools.repeat(FLOOD))
        except OSError:
            pass

    def post(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = [("Content-Type", "application/json")]
        user = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if user == "unknown-user" or STORE == "user" and not user:
            return self.reply(401)
        name = self.headers.get("Mcp-Session-Id")
        if MODERN or "anonymous" in MODES:
            name = f"of {user}" if STORE == "user" else "of all"
            self.sessions.setdefault(name, Session(user))
        elif message.get("method") == "initialize":
            if "full" in MODES and len(self.sessions) > 3:
                time.sleep(3600)
            name = self.new_id()
            self.sessions[name] = Session(user)
            self.ended.discard(name)
            headers.append(("Mcp-Session-Id", name))
        session = None if name in self.ended else self.sessions.get(name)
        if name in self.ended and "unclear" in MODES:
            self.reply(400)
        elif session is None or session.user != user and not {"anonymous", "foreign", "modern"} & set(MODES):
            self.reply(404 if name else 400)
        elif "id" not in message:
            self.reply(202)
        elif message["method"] == "subscriptions/listen":
            self.listen(message)
        elif "stalls" in MODES and "_meta" in message.get("params", {}):
            self.send_events(0, [""])
            time.sleep(3600)
        elif message["method"] != "initialize" and {"resumable", "forgetful"} & set(MODES):
            self.stream(name, session.answer(message))
        else:
            self.reply(200, json.dumps(session.answer(message)).encode(), headers)


if len(sys.argv) > 3 and sys.argv[3]:
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3])), Exchange).serve_forever()
only = Session()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        try:
            print(json.dumps(only.answer(message)), flush=True)
        except Flood:
            while True:
                print(FLOOD, flush=True)
    while not only.messages.empty():
        print(json.dumps(only.messages.get()), flush=True)
