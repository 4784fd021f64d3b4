"""The calls that a plan strikes are the same however many are under way at once, over HTTP, too."""

import json
import os
import re
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor

CALLS = 200
MCPROVE = os.environ["MCPROVE"]


def started(command, said):
    process = subprocess.Popen([MCPROVE, *command], stderr=subprocess.PIPE, text=True)
    return process, re.search(said + r" (http://\S+)", process.stderr.readline()).group(1)


def struck(at_once):
    server, upstream = started(["serve", "demo", "--http", "127.0.0.1:0"], "serving")
    relay, url = started(["relay", "http", "--quiet", "--plan", "fifth.yml", "--upstream", upstream], "relaying")

    def is_struck(number):
        about = {"name": "driver", "version": "1"}
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
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as response:
            text = response.read().decode()
        return json.loads(re.search(r"\{.*\}", text).group(0))["result"].get("isError", False)

    with ThreadPoolExecutor(at_once) as pool:
        found = [number for number, is_hit in enumerate(pool.map(is_struck, range(CALLS))) if is_hit]
    for process in (relay, server):
        process.terminate()
        process.wait()
    return found


sets = [struck(at_once) for at_once in (1, 8, 64)]
print(f"{len(sets[0])} of {CALLS} calls were struck, one at a time")
for at_once, found in zip((8, 64), sets[1:]):
    print(f"{at_once} at a time:", "the same calls" if found == sets[0] else set(found) ^ set(sets[0]))
