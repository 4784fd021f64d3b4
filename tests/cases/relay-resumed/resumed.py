"""A suite against a server that ends its streams before the answer, with a relay between them: suite, and flags."""

import json
import os
import re
import socket
import subprocess
import sys

SUITE, *FLAGS = sys.argv[1:]
MCPROVE = os.environ["MCPROVE"]

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    upstream = free.getsockname()[1]
server = subprocess.Popen(["python3", "../../servers/keeper.py", "notes", "own", str(upstream), "resumable", "polled"])
while True:
    try:
        socket.create_connection(("127.0.0.1", upstream)).close()
        break
    except OSError:
        pass
command = [MCPROVE, "relay", "http", "--quiet", *FLAGS, "--upstream", f"http://127.0.0.1:{upstream}/mcp"]
relay = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
url = re.search(r"http://\S+/mcp", relay.stderr.readline()).group(0)
run = subprocess.run([MCPROVE, "run", SUITE], env={**os.environ, "URL": url}, stdout=subprocess.PIPE, text=True)
print(re.sub(r"\s+\S+ m?s$", "", run.stdout.strip().splitlines()[-1]))
relay.terminate()
print("relay: exit", relay.wait())
server.terminate()
server.wait()
for event in map(json.loads, open("events.ndjson") if os.path.exists("events.ndjson") else []):
    if event["type"] == "change":
        print("changed", event["tool"], event["faults"])
    elif event["type"] == "call":
        print("call", event["tool"], event["outcome"])
