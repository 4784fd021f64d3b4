"""What a client of a relay over HTTP sees of slow connections and of those that are reset: with answers in JSON, and as
events."""

import json
import os
import re
import socket
import subprocess
import time

KEEPER = ["python3", "../../servers/keeper.py", "notes", "shared"]


def listening(*modes):
    """A server that listens, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([*KEEPER, str(port), "modern", *modes])
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return server, port
        except OSError:
            pass


def relaying(upstream):
    command = ["relay", "http", "--quiet", "--plan", "plan.yml", "--upstream", f"http://127.0.0.1:{upstream}/mcp"]
    relay = subprocess.Popen([os.environ["MCPROVE"], *command], stderr=subprocess.PIPE, text=True)
    return relay, re.search(r"relaying http://127.0.0.1:(\d+)", relay.stderr.readline()).group(1)


def post(port, text):
    """The answer to a call as it comes: its bytes, its parts, the time that it took and how it ended."""
    params = {"name": "save_note", "arguments": {"text": text}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    connection = socket.create_connection(("127.0.0.1", int(port)))
    begun = time.monotonic()
    connection.sendall(("\r\n".join(head) + "\r\n\r\n" + body).encode())
    parts, end = [], "closed"
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        end = "reset"
    return b"".join(parts), len(parts), time.monotonic() - begun, end, len(body)


for name, modes in [("JSON", []), ("events", ["resumable"])]:
    server, upstream = listening(*modes)
    relay, port = relaying(upstream)
    whole, _, _, end, _ = post(port, "fast")
    print(name, "whole:", b"resultType" in whole, "events:", b"text/event-stream" in whole, end)
    slow, parts, took, end, length = post(port, "slow" + "x" * 300)
    print(name, "slow:", took >= (length + 100) / 1000, "in parts:", parts > 3, "whole:", b"resultType" in slow, end)
    torn, _, _, end, _ = post(port, "reset")
    head, _, body = torn.partition(b"\r\n\r\n")
    half = b"jsonrpc" in body and b"cacheScope" not in body
    print(name, "broken off:", head.split(b"\r\n")[0].decode(), "half:", half, end)
    relay.terminate()
    print("relay: exit", relay.wait())
    server.terminate()
    server.wait()
