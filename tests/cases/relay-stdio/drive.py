"""The calls that a plan strikes are the same however many are under way at once."""

import json
import os
import subprocess
import threading

CALLS = 300


def struck(at_once):
    relay = subprocess.Popen(
        [os.environ["MCPROVE"], "relay", "stdio", "--quiet", "--plan", "fifth.yml", "--", os.environ["MCPROVE"], "serve", "demo"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    room, found = threading.Semaphore(at_once), set()

    def send(message):
        relay.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        relay.stdin.flush()

    def read():
        for line in relay.stdout:
            answer = json.loads(line)
            if answer.get("id", 0) > 0:
                if answer["result"].get("isError"):
                    found.add(answer["id"])
                room.release()

    client = {"name": "driver", "version": "1"}
    send({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}})
    relay.stdout.readline()
    send({"method": "notifications/initialized"})
    reading = threading.Thread(target=read)
    reading.start()
    for number in range(1, CALLS + 1):
        room.acquire()
        send({"id": number, "method": "tools/call", "params": {"name": "echo", "arguments": {"message": f"call {number}"}}})
    for _ in range(at_once):
        room.acquire()
    relay.stdin.close()
    reading.join()
    assert relay.wait() == 0
    return found


sets = [struck(at_once) for at_once in (1, 8, 64)]
print(f"{len(sets[0])} of {CALLS} calls were struck, one at a time")
print("8 at a time: the same calls" if sets[1] == sets[0] else f"8 at a time: {sets[0] ^ sets[1]} differ")
print("64 at a time: the same calls" if sets[2] == sets[0] else f"64 at a time: {sets[0] ^ sets[2]} differ")
