"""Calls of tools through a relay: drive.py PLAN, with a call in each line of its input: TOOL, and a task where it has one.

Shows the answers, and then what the relay tells.
"""

import json
import os
import subprocess
import sys

relay = subprocess.Popen(
    [os.environ["MCPROVE"], "relay", "stdio", "--plan", sys.argv[1], "--", "python3", "../../servers/answering.py"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
)


def ask(number, method, **params):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    relay.stdin.write(json.dumps(message) + "\n")
    relay.stdin.flush()
    return json.loads(relay.stdout.readline())


about = {"name": "driver", "version": "1"}
ask("a", "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=about)
ask("b", "tools/list")
for number, line in enumerate(sys.stdin, 1):
    tool, *task = line.split()
    meta = {"_meta": {"mcprove/task": task[0], "progressToken": number}} if task else {}
    answer = ask(number, "tools/call", name=tool, arguments={}, **meta)
    assert answer.get("id") in (number, None), answer
    result = answer.get("result", {})
    texts = [block["text"] for block in result.get("content", [])]
    shown = answer["error"]["message"] if "error" in answer else json.dumps([result.get("structuredContent"), *texts])
    print(line.strip(), "=>", shown)
relay.stdin.close()
# Nothing comes beside the answers.
assert relay.stdout.read() == ""
print(relay.stderr.read(), end="")
relay.wait()
