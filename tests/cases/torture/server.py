"""A server that repeats texts, until many calls were made."""

import json
import queue
import sys
import threading
import time

HOW = sys.argv[1]
REPEAT = {
    "name": "repeat",
    "description": "Returns a text.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"readOnlyHint": True},
}
calls = 0


def call(text):
    global calls
    calls += 1
    if HOW == "slow":
        time.sleep(0.3)
    elif calls > 12:
        if HOW == "end":
            sys.exit(3)
        while HOW == "hang":
            time.sleep(60)
        while HOW == "flood":
            sys.stdout.write("x" * 65536)
    return {"content": [{"type": "text", "text": text}]}


LINES = queue.Queue()


def read():
    for line in sys.stdin:
        LINES.put(line)
    LINES.put(None)


def loses(message):
    """One of two calls at once gets no answer, and the other one its text."""
    if HOW != "lose" or message.get("method") != "tools/call" or calls < 12:
        return False
    try:
        after = LINES.get(timeout=0.05)
    except queue.Empty:
        return False
    if after and json.loads(after).get("method") == "tools/call":
        text = message["params"]["arguments"]["text"]
        answer = {"jsonrpc": "2.0", "id": json.loads(after)["id"], "result": call(text)}
        print(json.dumps(answer), flush=True)
        return True
    LINES.put(after)
    return False


threading.Thread(target=read, daemon=True).start()
for line in iter(LINES.get, None):
    message = json.loads(line)
    if "id" not in message or loses(message):
        continue
    method, params = message["method"], message.get("params", {})
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        about = {"name": "repeats", "version": "1.0.0"}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        answer["result"] = {"tools": [REPEAT]}
    elif method == "tools/call":
        answer["result"] = call(params["arguments"]["text"])
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
