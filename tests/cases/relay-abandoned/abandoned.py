"""Clients that leave streams before the answer, and resume none: the calls are given up, in the end all of them."""

import collections
import http.client
import http.server
import json
import os
import re
import subprocess
import threading
import urllib.request

# The relay remembers 1000 of them.
OF_FIRST, OF_SECOND = 1003, 3
left = threading.Semaphore(0)


class Handler(http.server.BaseHTTPRequestHandler):
    """Begins a stream that could be resumed, and never answers; ends every session."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"id: 1\ndata:\n\n")
        # Nothing comes any more but the end of the connection.
        self.rfile.read()
        left.release()
        self.close_connection = True

    def do_DELETE(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *words):
        pass


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
upstream = f"http://127.0.0.1:{server.server_port}/mcp"
flags = ["--events", "events.ndjson", "--metrics", "127.0.0.1:0", "--upstream", upstream]
relay = subprocess.Popen([os.environ["MCPROVE"], "relay", "http", *flags], stderr=subprocess.PIPE, text=True)
metrics = relay.stderr.readline().split()[-1]
host = re.match(r"relaying http://([^/]+)/", relay.stderr.readline()).group(1)


def leave(session, number):
    """Calls a tool, and goes away as soon as the stream has begun."""
    client = http.client.HTTPConnection(host)
    call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": session, "arguments": {"n": number}}}
    client.request("POST", "/mcp", json.dumps(call), {"Mcp-Session-Id": session})
    answer = client.getresponse()
    answer.read(5)
    answer.close()
    client.close()


def given_up():
    text = urllib.request.urlopen(metrics).read().decode()
    found = re.findall(r'calls_total\{tool="(\w+)",outcome="unanswered"\} (\d+)', text)
    return {tool: int(count) for tool, count in found}


for number in range(OF_FIRST):
    leave("first", number)
for number in range(OF_SECOND):
    leave("second", number)
for _ in range(OF_FIRST + OF_SECOND):
    left.acquire()
print("the server sees that all clients have gone")
print("given up while the relay runs:", given_up())
client = http.client.HTTPConnection(host)
client.request("DELETE", "/mcp", headers={"Mcp-Session-Id": "second"})
print("the end of the second session:", client.getresponse().status)
print("given up while the relay runs:", given_up())
relay.terminate()
print("relay: exit", relay.wait())
print(relay.stderr.read().splitlines()[0])
calls = [event for event in map(json.loads, open("events.ndjson")) if event["type"] == "call"]
print(dict(collections.Counter((call["tool"], call["outcome"]) for call in calls)))
