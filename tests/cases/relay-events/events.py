"""The events of a relay over HTTP whose file may not grow, or that is killed: what is in the file is whole."""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request

MCPROVE = os.environ["MCPROVE"]
CALLS = 20
FULL = "ulimit -f 2; "


def started(command, said):
    process = subprocess.Popen(["sh", "-c", command], stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()
    return process, re.search(said + r" (http://\S+)", line).group(1)


def is_answered(url, number):
    about = {"name": "client", "version": "1"}
    names = {"protocolVersion": "2026-07-28", "clientCapabilities": {}, "clientInfo": about}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in names.items()}
    params = {"name": "echo", "arguments": {"message": f"call {number}"}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "echo",
    }
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as response:
            return number == json.loads(re.search(r"\{.*\}", response.read().decode()).group(0))["id"]
    except (urllib.error.URLError, ConnectionError):
        # A relay that ends may break off the answer under way.
        return False


def run(name, limits, *flags, kill=False):
    server, upstream = started(f'exec "{MCPROVE}" serve demo --http 127.0.0.1:0', "serving")
    command = f'{limits}exec "{MCPROVE}" relay http --plan plan.yml --events events.ndjson {" ".join(flags)} --upstream {upstream}'
    relay, url = started(command, "relaying")
    answered = sum(is_answered(url, number) for number in range(CALLS))
    relay.kill() if kill else relay.terminate()
    print(f"{name}: exit {relay.wait()}, {'all' if answered == CALLS else 'not all'} calls are answered")
    print(*(line for line in relay.stderr if "half" not in line), sep="", end="")
    text = open("events.ndjson").read()
    # A line that is cut off would stop this.
    events = [json.loads(line) for line in text.splitlines()]
    calls = sum(event["type"] == "call" for event in events)
    counted = f"all {CALLS}" if calls == CALLS else "some"
    print(f"the file ends with a whole line: {text.endswith(chr(10))}; {counted} calls in it")
    server.terminate()
    server.wait()


run("full", FULL)
run("full, strict", FULL, "--strict", "--quiet")
run("killed", "", "--quiet", kill=True)
