"""Keeps notes while many calls are under way, each in a thread of its own: crowd.py FAULT [FILE [PORT]].

FAULT: `none`; `doubled`, stores a note twice that meets another one; `swapped`, answers with whatever note came last;
`same-id`, gives notes that meet the same id; `stale`, refreshes its list later where notes meet; `behind`, confirms notes
before they are in the file; `torn`, empties the file before it writes it, and does not start with an empty one; `forgets`,
does the same, and starts with nothing; `half`, appends notes to the file bit by bit, and shows what a killed one has left of
the last; `lines`, does so, and shows whole notes only, as is right; `mixed`, leaves two lists in the file once notes have
met, and does not start with them; `locks`, waits at its start for a lock that a killed one has left; `floods`, does not wait
for it and never stops talking; `twice`, stores a named note twice that is set twice at once; `posted`, does so where both
requests have the same id; `drops`, drops answers that its output has no room for; `serial`, serves one connection at a time;
`aborts`, ends with SIGABRT when its input ends behind many calls; `partial`, carries out requests whose bodies are
not whole; `pages`, has one place for all walks of its list of tools, and `paged`, one in each cursor.
FILE: notes outlive the server there; `-` keeps none.
PORT: serves HTTP there instead of standard input and output.
"""

import json
import os
import select
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

FAULT, FILE, PORT = (sys.argv[1:] + [None, None])[:3]
FILE = None if FILE == "-" else FILE
NOTE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "add_note", "inputSchema": NOTE, "annotations": {"readOnlyHint": False, "destructiveHint": False}},
    {"name": "list_notes", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]
NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
IDEMPOTENT = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True}
TOOLS.append({"name": "set_note", "inputSchema": NAMED, "annotations": IDEMPOTENT})
ECHO = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS.append({"name": "show_text", "inputSchema": ECHO, "annotations": {"readOnlyHint": True}})
LINES = FAULT in ("half", "lines")
TEARS, LOCKS = FAULT in ("torn", "forgets"), FAULT in ("locks", "floods")
MEETING = 0.03
TEARING = 0.1
LATER = 0.5

lock, output = threading.Lock(), threading.Lock()
notes, shown = [], []
under_way, being_set = [], []
place = 0
serving = []
last = None
mixed = []


def load():
    if not FILE or not os.path.exists(FILE):
        return []
    with open(FILE) as file:
        text = file.read()
    if LINES:
        lines = text.split("\n")
        if FAULT == "lines" and lines[-1]:
            os.truncate(FILE, len(text.encode()) - len(lines.pop().encode()))
        return [{"id": f"n{at}", "text": line} for at, line in enumerate(lines, 1) if line]
    if not text and FAULT == "forgets":
        return []
    try:
        return json.loads(text)
    except ValueError:
        sys.exit("the notes cannot be read")


def save(kept):
    if not FILE:
        return
    if LINES:
        append(kept[-1]["text"])
        return
    if TEARS:
        with open(FILE, "w") as file:
            file.flush()
            time.sleep(TEARING)
            json.dump(kept, file)
        return
    with open(FILE + ".new", "w") as file:
        json.dump(kept, file)
        if mixed:
            json.dump(kept, file)
    os.replace(FILE + ".new", FILE)


def append(text):
    with open(FILE, "a+") as file:
        file.seek(0)
        if not file.read().endswith(("\n", "")[file.tell() == 0]):
            file.write("\n")
        for letter in text + "\n":
            file.write(letter)
            file.flush()
            time.sleep(TEARING / len(text))


def flush():
    with lock:
        save(notes)


def refresh():
    with lock:
        shown[:] = notes


def later(work):
    timer = threading.Timer(LATER, work)
    timer.daemon = True
    timer.start()


def add(text):
    """Adds a note; calls that are under way at the same time meet."""
    global last
    own = {"meets": False}
    with lock:
        under_way.append(own)
        if len(under_way) > 1:
            for other in under_way:
                other["meets"] = True
        early = f"n{len(notes) + 1}"
        last = {"id": early, "text": text}
    time.sleep(0 if TEARS else MEETING)
    with lock:
        under_way.remove(own)
        meets = own["meets"]
        note = {"id": early if FAULT == "same-id" else f"n{len(notes) + 1}", "text": text}
        notes.append(note)
        if FAULT == "doubled" and meets:
            notes.append(note)
        if FAULT == "mixed" and meets:
            mixed.append(note)
        if FAULT == "behind":
            later(flush)
        else:
            save(notes)
        if FAULT == "stale" and meets:
            later(refresh)
        else:
            shown[:] = notes
        return last if FAULT == "swapped" else note


def put(name, request):
    """Adds a note unless there is one of that name."""
    with lock:
        known = any(note["text"] == name for note in notes)
        if FAULT == "posted":
            known = known or any(other == name and number != request for number, other in being_set)
        being_set.append((request, name))
        if known or FAULT not in ("twice", "posted"):
            return {"known": True} if known else store(name)
    time.sleep(MEETING)
    with lock:
        return store(name)


def store(name):
    note = {"id": f"n{len(notes) + 1}", "text": name}
    notes.append(note)
    save(notes)
    shown[:] = notes
    return note


def page(cursor):
    """A page of one tool."""
    global place
    time.sleep(0.01)
    with lock:
        own = int(cursor) if cursor else 0
        place = place + 1 if cursor else 0
        at = min(place if FAULT == "pages" else own, len(TOOLS) - 1)
    following = {"nextCursor": str(own + 1)} if own + 1 < len(TOOLS) else {}
    return {"tools": [TOOLS[at]], **following}


def call(params, request):
    if params["name"] == "set_note":
        return put(params["arguments"]["name"], request)
    if params["name"] == "show_text":
        return {"text": params["arguments"]["text"]}
    if params["name"] == "add_note":
        return add(params["arguments"]["text"])
    with lock:
        return {"notes": list(shown)}


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        about = {"name": "crowd", "version": "1.0.0"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list" and FAULT in ("pages", "paged"):
        return {"result": page(params.get("cursor"))}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        said = call(params, message["id"])
        return {"result": {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def answered(message):
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)})


def serve(message):
    line = answered(message)
    with output:
        if FAULT != "drops" or select.select([], [1], [], 0)[1]:
            print(line, flush=True)


class Posts(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length and FAULT != "partial":
            return self.send_error(400)
        message = json.loads(body)
        body = answered(message).encode() if "id" in message else b""
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if FAULT == "serial":
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_error(405)

    do_DELETE = do_GET

    def log_message(self, *_):
        pass


def take_lock():
    while os.path.exists(FILE + ".lock"):
        if FAULT == "floods":
            print("x" * 65536, flush=True)
        time.sleep(0 if FAULT == "floods" else LATER)
    open(FILE + ".lock", "w").close()


if LOCKS:
    take_lock()
notes.extend(load())
shown.extend(notes)
if PORT:
    (HTTPServer if FAULT == "serial" else ThreadingHTTPServer)(("127.0.0.1", int(PORT)), Posts).serve_forever()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        serving.append(threading.Thread(target=serve, args=(message,), daemon=True))
        serving[-1].start()
if FAULT == "aborts" and len(serving) > 8:
    os.abort()
for thread in serving:
    thread.join()
flush()
if LOCKS:
    os.remove(FILE + ".lock")
