"""Hundreds of sessions at once through a relay over HTTP: each gets its own answers, and nothing of them stays."""

import collections
import http.client
import json
import os
import re
import subprocess
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

SESSIONS, CALLS = 300, 4
MCPROVE = os.environ["MCPROVE"]
REVISION = "2025-11-25"


def started(command, said, lines=1):
    process = subprocess.Popen([MCPROVE, *command], stderr=subprocess.PIPE, text=True)
    text = "".join(process.stderr.readline() for _ in range(lines))
    return process, re.search(said + r" (http://\S+)", text).group(1), text


server, upstream, _ = started(["serve", "demo", "--http", "127.0.0.1:0"], "serving")
flags = ["--events", "events.ndjson", "--metrics", "127.0.0.1:0", "--upstream", upstream]
relay, url, text = started(["relay", "http", *flags], "relaying", lines=2)
metrics = re.search(r"metrics at (\S+)", text).group(1)
host, path = re.match(r"http://([^/]+)(/.*)", url).groups()


class Session:
    """A client with a connection of its own."""

    def __init__(self):
        self.connection = http.client.HTTPConnection(host)
        self.id = None

    def send(self, method, message=None):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.id:
            headers |= {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": REVISION}
        body = json.dumps({"jsonrpc": "2.0", **message}) if message else None
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def begin(self):
        about = {"name": "crowd", "version": "1"}
        params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": about}
        _, headers, _ = self.send("POST", {"id": 0, "method": "initialize", "params": params})
        self.id = headers["Mcp-Session-Id"]
        self.send("POST", {"method": "notifications/initialized"})

    def call(self, number, message):
        """The answer to a call; all sessions use the same ids."""
        params = {"name": "echo", "arguments": {"message": message}}
        status, _, text = self.send("POST", {"id": number, "method": "tools/call", "params": params})
        answer = json.loads(re.search(r"\{.*\}", text).group(0)) if status == 200 else {}
        return status, answer.get("id"), answer.get("result", {}).get("structuredContent", {}).get("message")


def live(own, everybody):
    """One session, from its begin to its end; what was not as it should be."""
    session, wrong = Session(), []
    session.begin()
    everybody.wait()
    for number in range(1, CALLS + 1):
        message = f"call {number} of session {own}"
        answer = session.call(number, message)
        if answer != (200, number, message):
            wrong.append(answer)
    everybody.wait()
    ended = session.send("DELETE")[0]
    after = session.call(CALLS + 1, "nobody is here")[0]
    session.connection.close()
    return wrong, ended, after


def crowd():
    everybody = threading.Barrier(SESSIONS)
    with ThreadPoolExecutor(SESSIONS) as pool:
        found = list(pool.map(lambda own: live(own, everybody), range(SESSIONS)))
    wrong = [answer for wrong, _, _ in found for answer in wrong]
    print("answers that are not the session's own:", wrong[:3] or "none")
    print("ends of sessions:", dict(collections.Counter(ended for _, ended, _ in found)))
    print("calls after the end:", dict(collections.Counter(after for _, _, after in found)))
    counted = urllib.request.urlopen(metrics).read().decode()
    print(*re.findall(r'calls_total\{tool="echo",outcome="\w+"\} [1-9]\d*', counted), sep="\n")


crowd()
crowd()
# Some connections to the server are kept for the next request. The relay may still be closing others.
for _ in range(1000):
    kept = len(os.listdir(f"/proc/{relay.pid}/fd"))
    if kept < SESSIONS / 2:
        break
    time.sleep(0.01)
print("open files of the relay:", "fewer than sessions" if kept < SESSIONS / 2 else kept)
relay.terminate()
print("relay: exit", relay.wait())
print(relay.stderr.read().splitlines()[0])
server.terminate()
server.wait()
events = [json.loads(line) for line in open("events.ndjson")]
sessions = collections.Counter(event["session"] for event in events if event["type"] == "call")
print(f"{len(sessions)} sessions in the events, with", set(sessions.values()), "calls each")
