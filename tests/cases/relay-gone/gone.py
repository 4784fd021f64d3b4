"""A client that dies while calls are open: both of its ends close at once, as the system closes those of a killed process."""

import json
import os
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

CALLS = 3
RELAY = [os.environ["MCPROVE"], "relay", "stdio"]


def client(streams):
    """The ends of a client, and those of the relay: two pipes, or one socket as Node has it."""
    if streams == "socket":
        own, other = socket.socketpair()
        return [own.makefile("w"), own.makefile("r"), own], [other, other]
    (theirs_in, own_out), (own_in, theirs_out) = os.pipe(), os.pipe()
    return [os.fdopen(own_out, "w"), os.fdopen(own_in, "r")], [os.fdopen(theirs_in), os.fdopen(theirs_out, "w")]


def dies(streams, server, name, *flags):
    ends, (relay_in, relay_out) = client(streams)
    sending, reading = ends[:2]
    alive, held = os.pipe()
    relay = subprocess.Popen(
        [*RELAY, *flags, "--", "python3", "server.py", server],
        stdin=relay_in,
        stdout=relay_out,
        stderr=open(f"{name}.txt", "w"),
        pass_fds=[held],
    )
    for end in (relay_in, relay_out):
        end.close()
    os.close(held)

    def send(message):
        sending.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sending.flush()

    about = {"name": "client", "version": "1"}
    send({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}})
    reading.readline()
    for number in range(1, CALLS + 1):
        send({"id": number, "method": "tools/call", "params": {"name": "wait", "arguments": {"number": number}}})
    # Only then are the calls open.
    for _ in range(CALLS):
        reading.readline()
    for end in ends:
        end.close()
    lines = [f"{streams}, the server {server}: exit {relay.wait()}"]
    # Empty once nobody holds the other end.
    lines.append(f"all that it started has ended: {os.read(alive, 1) == b''}")
    lines += open(f"{name}.txt").read().splitlines()[:1]
    if flags:
        events = [json.loads(line) for line in open(flags[-1])]
        calls = [(event["tool"], event["outcome"]) for event in events if event["type"] == "call"]
        lines.append(f"{calls} {events[-1]['type']}")
    os.close(alive)
    return lines


KINDS = [(streams, server) for streams in ("pipes", "socket") for server in ("ends", "stays", "writes")]
# All at once: a server that stays gets some seconds.
with ThreadPoolExecutor(2 * len(KINDS)) as pool:
    found = []
    for number, (streams, server) in enumerate(KINDS):
        found.append(pool.submit(dies, streams, server, f"copied-{number}"))
        found.append(pool.submit(dies, streams, server, f"watched-{number}", "--events", f"{number}.ndjson"))
    for one in found:
        print(*one.result(), sep="\n")
