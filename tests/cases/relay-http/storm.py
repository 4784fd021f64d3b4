"""What a server over HTTP hears of a storm of requests: every copy, whose answer nobody gets, and the client gets its own."""

import json
import os
import re
import subprocess
import time
import urllib.request

MCPROVE = os.environ["MCPROVE"]


def started(command, said):
    process = subprocess.Popen([MCPROVE, *command], stderr=subprocess.PIPE, text=True)
    return process, re.search(said + r" (http://\S+)", process.stderr.readline()).group(1)


def call(url, number, tool, arguments):
    about = {"name": "driver", "version": "1"}
    names = {"protocolVersion": "2026-07-28", "clientCapabilities": {}, "clientInfo": about}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in names.items()}
    params = {"name": tool, "arguments": arguments, "_meta": meta | {"progressToken": number, "mcprove/task": "a task"}}
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
    return answers[0]["result"]["structuredContent"]


server, upstream = started(["serve", "demo", "--http", "127.0.0.1:0"], "serving")
relay, url = started(["relay", "http", "--plan", "storm.yml", "--upstream", upstream], "relaying")
call(url, 1, "create_user", {"name": "Ann", "email": "ann@example.com"})
for attempt in range(100):
    total = call(upstream, 2, "list_users", {})["total"]
    if total == 6:
        break
    time.sleep(0.05)
print(f"the server has {total} users")
relay.terminate()
print(*(line for line in relay.stderr), sep="", end="")
relay.wait()
server.terminate()
server.wait()
