"""Keeps what it is told, under one of several sets of tools: keeper.py TOOLS STORE [PORT].

TOOLS: `notes` lists what was saved, `ablage` shows it under its key and has no English words, `items` shows it by an
identifier and as resources, `board` tells sessions of it in notifications.
STORE: `own`, one for each session; `shared`, one for all sessions; a file, one for all processes; `silent` or `ends`,
a tool of `notes` that does not answer, or that ends the server.
Over stdio, or with a port over HTTP.
"""

import json
import os
import queue
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS, STORE = sys.argv[1:3]


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
    "board": [tool("announce", "text", **WRITES), tool("count", **READS)],
}


class Session:
    """The entries of a session, and the messages for it."""

    everybody = []
    kept = []

    def __init__(self):
        self.entries = Session.kept if STORE == "shared" else []
        self.messages = queue.Queue()
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

    def call(self, name, arguments):
        entries = self.load()
        if name == "save_note" and STORE == "silent":
            time.sleep(3600)
        if name == "save_note" and STORE == "ends":
            os._exit(3)
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
        elif name == "put_item":
            self.save({"id": f"i{len(entries) + 1}", "label": arguments["label"]})
            return {"id": f"i{len(entries)}"} if "/" not in STORE else {"id": self.entries[-1]["id"]}
        elif name == "item":
            return [entry for entry in entries if entry["id"] == arguments["item_id"]]
        elif name == "announce":
            self.save({"text": "not kept"})
            self.announce(arguments["text"])
        elif name == "count":
            return {"entries": len(entries)}
        return {"done": True}

    def answer(self, message):
        method, params = message["method"], message.get("params", {})
        result = {}
        if method == "initialize":
            about = {"name": "keeper", "version": "1.0.0"}
            offer = {"tools": {}, "logging": {}} | ({"resources": {}} if TOOLS == "items" else {})
            result = {"protocolVersion": "2025-11-25", "capabilities": offer, "serverInfo": about}
        elif method == "tools/list":
            result = {"tools": SETS[TOOLS]}
        elif method == "resources/list":
            entries = [entry for entry in self.load() if "id" in entry]
            result = {"resources": [{"uri": f"items://{entry['id']}", "name": entry["label"]} for entry in entries]}
        elif method == "resources/templates/list":
            result = {"resourceTemplates": []}
        elif method == "resources/read":
            uri = params["uri"]
            found = [entry for entry in self.load() if uri == f"items://{entry.get('id')}"]
            result = {"contents": [{"uri": uri, "text": json.dumps(found)}]}
        elif method == "tools/call":
            said = self.call(params["name"], params.get("arguments", {}))
            result = {"content": [{"type": "text", "text": json.dumps(said)}]}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = {}

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        self.reply(200)

    def do_GET(self):
        session = self.sessions[self.headers["Mcp-Session-Id"]]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(f"data: {json.dumps(session.messages.get())}\n\n".encode())
        except OSError:
            pass

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = [("Content-Type", "application/json")]
        name = self.headers.get("Mcp-Session-Id")
        if message.get("method") == "initialize":
            name = f"session-{len(self.sessions)}"
            self.sessions[name] = Session()
            headers.append(("Mcp-Session-Id", name))
        if name not in self.sessions:
            self.reply(404 if name else 400)
        elif "id" not in message:
            self.reply(202)
        else:
            self.reply(200, json.dumps(self.sessions[name].answer(message)).encode(), headers)


if len(sys.argv) > 3:
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3])), Exchange).serve_forever()
only = Session()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps(only.answer(message)), flush=True)
    while not only.messages.empty():
        print(json.dumps(only.messages.get()), flush=True)
