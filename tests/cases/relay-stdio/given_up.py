"""A call that its client gives up and repeats is one intent; what is late does not keep the relay from ending."""

import json
import os
import signal
import subprocess

MCPROVE = os.environ["MCPROVE"]
COMMAND = [MCPROVE, "relay", "stdio", "--plan", "late.yml", "--", MCPROVE, "serve", "demo"]
relay = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def send(message):
    relay.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    relay.stdin.flush()


client = {"name": "client", "version": "1"}
send({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}})
relay.stdout.readline()
send({"method": "notifications/initialized"})
call = {"method": "tools/call", "params": {"name": "echo", "arguments": {"message": "hello"}}}
send({"id": 2, **call})
send({"method": "notifications/cancelled", "params": {"requestId": 2}})
send({"id": 3, **call})
print("answered:", json.loads(relay.stdout.readline())["id"], flush=True)
relay.stdin.close()
try:
    relay.wait(timeout=3)
except subprocess.TimeoutExpired:
    relay.send_signal(signal.SIGTERM)
print("exit", relay.wait())
# Whether the server still answers what was cancelled is its choice.
print(*(line for line in relay.stderr if "intent" in line or "TCAF" in line), sep="", end="")
