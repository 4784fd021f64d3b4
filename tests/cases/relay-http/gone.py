"""A client that goes away in the middle of a stream, and a server that dies in the middle of an answer: the relay goes on."""

import http.server
import json
import os
import re
import socket
import subprocess
import threading

left = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = asked["params"]["name"]
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if name == "stream" else "application/json")
        self.send_header("Connection", "close")
        if name != "stream":
            self.send_header("Content-Length", str(len(body) + 50 * (name == "dies")))
        self.end_headers()
        if name == "stream":
            try:
                while True:
                    self.wfile.write(b": still here\n\n")
                    self.wfile.flush()
            except OSError:
                left.set()
        else:
            self.wfile.write(body)
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *words):
        pass


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
upstream = f"http://127.0.0.1:{server.server_port}/mcp"
command = [os.environ["MCPROVE"], "relay", "http", "--quiet", "--events", "gone.ndjson", "--upstream", upstream]
relay = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
port = int(re.search(r"127.0.0.1:(\d+)/", relay.stderr.readline()).group(1))


def post(name):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}
    body = json.dumps(call)
    connection = socket.create_connection(("127.0.0.1", port))
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    connection.sendall((head + body).encode())
    return connection


def answer(name):
    connection, text = post(name), b""
    while piece := connection.recv(65536):
        text += piece
    return text


client = post("stream")
client.recv(65536)
client.close()
left.wait()
print("the server sees that the client has gone")
dead = answer("dies")
print("the server dies:", dead.split(b" ")[1].decode(), dead.rpartition(b"\r\n\r\n")[2].decode().split(":")[1].strip())
print("the relay goes on:", answer("lives").endswith(b'"result": {}}'))
relay.terminate()
print("relay: exit", relay.wait())
for event in map(json.loads, open("gone.ndjson")):
    if event["type"] == "call":
        print(event["tool"], event["outcome"])
