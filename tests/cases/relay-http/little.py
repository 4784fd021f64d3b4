"""A server that compresses whenever it may, and redirects; then a client that likes both, through a relay."""

import gzip
import http.client
import http.server
import json
import os
import re
import subprocess
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_GET(self):
        self.send_response(307)
        self.send_header("Location", f"http://{self.headers['Host']}/mcp")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            text = gzip.compress(text)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
upstream = f"http://127.0.0.1:{server.server_port}/mcp"
command = [os.environ["MCPROVE"], "relay", "http", "--quiet", "--events", "little.ndjson", "--upstream", upstream]
relay = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
host = re.match(r"relaying http://([^/]+)/", relay.stderr.readline()).group(1)
client = http.client.HTTPConnection(host)
call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "any", "arguments": {}}}
client.request("POST", "/mcp", json.dumps(call), {"Accept-Encoding": "gzip"})
answer = client.getresponse()
print("encoding:", answer.headers["Content-Encoding"], "answer:", answer.read().decode())
client.request("GET", "/elsewhere")
answer = client.getresponse()
print("redirect to the relay:", answer.headers["Location"] == f"http://{host}/mcp")
client.close()
relay.terminate()
relay.wait()
for event in map(json.loads, open("little.ndjson")):
    print(event["type"], event.get("outcome", ""), event.get("figures", {}).get("availability", ""))
