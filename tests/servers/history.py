"""Notes that can be searched, and a tool that is there to show earlier searches; both say that they change nothing.

Over stdio, with the history of the one session. With a port, over HTTP: with a history for each session, or with
`shared` one for all, so that clients see what others looked for; with `anonymous`, without session ids, and without a
history unless it is shared.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOLS = [
    {"name": "search", "description": "Searches the notes.", "inputSchema": QUERY},
    {"name": "recent_searches", "description": "Lists recent searches.", "inputSchema": {"type": "object"}},
]
for tool in TOOLS:
    tool["annotations"] = {"readOnlyHint": True}


def answer(message, history):
    method, params = message["method"], message.get("params", {})
    result = {}
    if method == "initialize":
        server = {"name": "history", "version": "1.0.0"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        text = json.dumps(history)
        if "anonymous" in sys.argv:
            text = json.dumps([f"somebody looked for {query} among all the notes" for query in history])
        if params["name"] == "search":
            query = params.get("arguments", {}).get("query")
            if not isinstance(query, str):
                refused = {"code": -32602, "message": "`query` must be a text"}
                return {"jsonrpc": "2.0", "id": message["id"], "error": refused}
            history.append(query)
            text = "nothing was found"
        result = {"content": [{"type": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    histories = {}
    ended = set()

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(405)

    def do_DELETE(self):
        if "anonymous" in sys.argv:
            return self.reply(405)
        self.ended.add(self.headers["Mcp-Session-Id"])
        self.reply(200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = [("Content-Type", "application/json")]
        session = self.headers.get("Mcp-Session-Id")
        if "anonymous" in sys.argv:
            session = "everybody"
            self.histories[session] = self.histories.get(session, []) if "shared" in sys.argv else []
        elif message.get("method") == "initialize":
            session = f"session-{len(self.histories)}"
            self.histories[session] = self.histories["session-0"] if self.histories and "shared" in sys.argv else []
            headers.append(("Mcp-Session-Id", session))
        if session not in self.histories or session in self.ended:
            self.reply(404 if session else 400)
        elif "id" not in message:
            self.reply(202)
        else:
            self.reply(200, json.dumps(answer(message, self.histories[session])).encode(), headers)


if len(sys.argv) > 1:
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Exchange).serve_forever()
searches = []
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps(answer(message, searches)), flush=True)
