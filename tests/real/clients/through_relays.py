"""Every official client through every relay: it sees what it sees without one, and the server hears the same bytes.

Run it with the Python of `tests/real/venv`, the variable `MCPROVE`, a folder for what is written, and the transport:
`stdio`, `events` or `json` (HTTP whose answers are such).
"""

import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import time

from recorder import Recorder

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = str(HERE.parent / "venv/bin/python")
NODE = str(HERE.parent / "node_modules/.bin/node")
SERVER = [PYTHON, str(HERE.parent / "servers/sdk2_server.py")]
CLIENTS = {
    "python, 2025-11-25": [PYTHON, str(HERE / "warehouse.py"), "legacy"],
    "python, 2026-07-28": [PYTHON, str(HERE / "warehouse.py"), "auto"],
    "typescript 1, 2025-11-25": [NODE, str(HERE / "warehouse.mjs"), "1", "legacy"],
    "typescript 2, 2025-11-25": [NODE, str(HERE / "warehouse.mjs"), "2", "legacy"],
    "typescript 2, 2026-07-28": [NODE, str(HERE / "warehouse.mjs"), "2", "auto"],
}
MCPROVE = os.environ["MCPROVE"]
FOLDER = pathlib.Path(sys.argv[1])
PLAN = FOLDER / "plan.yml"
PLAN.write_text("faults:\n  - { name: elsewhere, type: lost_response, tools: [no_such_tool] }\n")
RELAYS = {"a relay": [], "a watched relay": ["--quiet", "--plan", str(PLAN)]}


def used(client, server):
    done = subprocess.run([*client, *server], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, f"{client} {server}\n{done.stderr}"
    return done.stdout


def over_streams(name, client):
    def recorded(way):
        files = [FOLDER / f"{word}-{way}.bin" for word in ("heard", "said")]
        heard, said = (shlex.quote(str(file)) for file in files)
        return files, ["sh", "-c", f"tee {heard} | {shlex.join(SERVER)} | tee {said}"]

    files, server = recorded("direct")
    direct = [used(client, server), *(file.read_bytes() for file in files)]
    for relay, flags in RELAYS.items():
        files, server = recorded("relayed")
        seen = [used(client, [MCPROVE, "relay", "stdio", *flags, "--", *server]), *(file.read_bytes() for file in files)]
        assert seen == direct, f"{name} through {relay} over stdio:\n{seen[0]}\n{direct[0]}"
        assert all(direct), f"{name} over stdio: nothing was recorded"
        print(f"{name}, stdio, {relay}: the same answers and the same bytes", flush=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def over_http(form):
    port = free_port()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([*SERVER, "streamable-http", str(port), *(["json"] if form == "json" else [])], **quiet)
    url = f"http://127.0.0.1:{port}/mcp"
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    direct = {name: used(client, [url]) for name, client in CLIENTS.items()}
    for relay, flags in RELAYS.items():
        for name, client in CLIENTS.items():
            behind = Recorder(port)
            upstream = f"http://127.0.0.1:{behind.port}/mcp"
            command = [MCPROVE, "relay", "http", *flags, "--upstream", upstream]
            running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            at = re.match(r"relaying http://127.0.0.1:(\d+)/", running.stderr.readline()).group(1)
            before = Recorder(int(at))
            seen = used(client, [f"http://127.0.0.1:{before.port}/mcp"])
            assert seen == direct[name], f"{name} through {relay} over HTTP ({form}):\n{seen}\n{direct[name]}"
            running.terminate()
            assert running.wait() == 0
            said, heard = before.exchanges(), behind.exchanges()
            if flags:
                # Nothing compressed can be watched.
                said = [((line, [h for h in headers if h[0] != "accept-encoding"], body), answer) for (line, headers, body), answer in said]
            assert len(said) > 5 and said == heard, f"{name} through {relay} over HTTP ({form}):\n{said}\n{heard}"
            print(f"{name}, http, {form}, {relay}: the same answers, the same bytes", flush=True)
    server.terminate()
    server.wait()


if sys.argv[2] == "stdio":
    for name, client in CLIENTS.items():
        over_streams(name, client)
else:
    over_http(sys.argv[2])
