"""Starts mcprove, and calls tools over HTTP as a client of 2026-07-28."""

import json
import os
import re
import subprocess
import urllib.request

MCPROVE = os.environ["MCPROVE"]


def started(command, said, limits=""):
    """The process of a command, and the address that it names; `limits` is shell that goes before it."""
    words = ["sh", "-c", f'{limits}exec "$0" "$@"', MCPROVE, *command]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    return process, re.search(said + r" (http://\S+)", process.stderr.readline()).group(1)


def call(url, number, tool, arguments, **meta):
    """The result of a call; the response must hold no other answer."""
    about = {"name": "driver", "version": "1"}
    names = {"protocolVersion": "2026-07-28", "clientCapabilities": {}, "clientInfo": about}
    meta |= {f"io.modelcontextprotocol/{name}": value for name, value in names.items()}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as response:
        text = response.read().decode()
    answers = [json.loads(data) for data in re.findall(r"\{.*\}", text) if '"method"' not in data]
    assert [answer["id"] for answer in answers] == [number], text
    return answers[0]["result"]
