"""A server that starts another process, and answers no call: it ends with its input, stays, or goes on to write."""

import json
import os
import subprocess
import sys
import time

mode = sys.argv[1]
# It holds what its starter left open, so that whoever reads from that knows when it has ended.
subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, close_fds=False)


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        about = {"name": "open", "version": "1"}
        capabilities = {"tools": {}}
        send({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": about}})
    elif message["method"] == "tools/call":
        send({"method": "notifications/message", "params": {"level": "info", "data": f"call {message['id']} is open"}})
while mode == "stays":
    time.sleep(1000)
try:
    while mode == "writes":
        send({"method": "notifications/message", "params": {"level": "info", "data": "still here"}})
except BrokenPipeError:
    os._exit(4)
sys.exit(3)
