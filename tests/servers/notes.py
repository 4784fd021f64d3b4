#!/usr/bin/env python3
"""A server of notes (2025-11-25, stdio) that is careful with its arguments, but for one fault: `notes.py FOLDER [FAULT]`.

Faults: `dots` follows any path, `prefix` compares paths as texts, `link` follows links, `encoded` decodes a path after
it was checked, `write` checks only what it reads, `template` does not check addresses of resources, `shell` has a shell
execute a word, `quiet` does so and shows nothing of it, `option` gives a word to a program as it is, `fetch` fetches
any address, `page` does so for resources, `literal` refuses only the plain addresses of this machine, `error` shows its environment in an error,
`log` writes it to standard error. `hang` answers nothing after its first call.
"""

import ipaddress
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
from little import Refused, Server, text, tool  # noqa: E402

TEXT = {"type": "string"}
ADDRESS = "note:///"
PAGES = "page:"
TOOLS = [
    tool("read_note", "Returns the note at `path`.", {"path": TEXT}, ["path"]),
    {
        **tool("save_note", "Writes `text` to the note at `path`.", {"path": TEXT, "text": TEXT}, ["path", "text"]),
        "annotations": {"readOnlyHint": False, "destructiveHint": False},
    },
    tool("count_word", "Counts `word` in all notes.", {"word": TEXT}, ["word"]),
    tool("sort_note", "Returns a sorted note, by its name.", {"name": TEXT}, ["name"]),
    tool("fetch_page", "Returns the page at `url`.", {"url": TEXT}, ["url"]),
    tool("say", "Returns `words`.", {"words": TEXT}, ["words"]),
]


class Notes:
    def __init__(self, folder, fault=""):
        self.folder, self.fault = os.path.realpath(folder), fault

    def inside(self, path, fault):
        """The path of a note, which is below the folder."""
        joined = os.path.join(self.folder, path)
        if fault == "dots":
            return joined
        if fault == "prefix":
            found = os.path.realpath(joined)
            is_inside = found.startswith(self.folder)
        elif fault == "link":
            found = os.path.abspath(joined)
            is_inside = os.path.commonpath([found, self.folder]) == self.folder
        else:
            found = os.path.realpath(joined)
            is_inside = os.path.commonpath([found, self.folder]) == self.folder
        if not is_inside:
            raise Refused(f"{path} is not among the notes")
        if fault == "encoded":
            return os.path.join(self.folder, urllib.parse.unquote(path))
        return found

    def read_note(self, path):
        path = self.inside(path, self.fault)
        if os.path.isdir(path):
            return ", ".join(sorted(os.listdir(path)))
        with open(path, encoding="utf-8") as note:
            return note.read()

    def save_note(self, path, text):
        path = self.inside(path, "dots" if self.fault == "write" else "")
        with open(path, "w", encoding="utf-8") as note:
            note.write(text)
        return "saved"

    def count_word(self, word):
        if self.fault in ("shell", "quiet"):
            command = f"grep -rc {word} {self.folder}"
            ran = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=5, cwd=self.folder)
            return ran.stdout + ran.stderr if self.fault == "shell" else "counted"
        command = ["grep", "-rc", "-e", word, self.folder]
        return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout

    def sort_note(self, name):
        word = [name] if self.fault == "option" else ["--", name]
        ran = subprocess.run(["sort", *word, "/dev/null"], capture_output=True, text=True, timeout=5, cwd=self.folder)
        if ran.returncode:
            raise Refused("there is no such note")
        return ran.stdout

    def fetch_page(self, url, fault=None):
        fault = fault or self.fault
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
        if host == "docs.test":
            return "all about notes"
        if parts.scheme not in ("http", "https"):
            raise Refused("this is no address of a page")
        if fault == "literal" and (host == "localhost" or host.startswith("127.0.0.")):
            raise Refused(f"{host} is forbidden")
        if fault not in ("fetch", "literal"):
            self.refuse_private(host)
        try:
            with urllib.request.urlopen(url, timeout=2) as page:
                return page.read(1000).decode()
        except (OSError, urllib.error.URLError) as error:
            raise Refused(f"there is no page: {error}") from error

    @staticmethod
    def refuse_private(host):
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except OSError as error:
            raise Refused(f"{host} is unknown") from error
        if any(not ipaddress.ip_address(entry[4][0]).is_global for entry in found):
            raise Refused(f"{host} is forbidden")

    def say(self, words):
        return words


class NotesServer(Server):
    """Its notes are resources, too."""

    def __init__(self, notes):
        super().__init__(0, "notes")
        self.notes = notes

    def answer(self, method, params):
        if method == "resources/list":
            return {"result": {"resources": [{"uri": ADDRESS + "today.md", "name": "today"}]}}
        if method == "resources/templates/list":
            return {"result": {"resourceTemplates": [{"uriTemplate": ADDRESS + "{path}", "name": "note"}, {"uriTemplate": PAGES + "{+url}", "name": "page"}]}}
        if method == "resources/read":
            return self.read(str(params.get("uri")))
        answer = super().answer(method, params)
        if method == "initialize":
            answer["result"]["capabilities"]["resources"] = {}
        return answer

    def read(self, uri):
        try:
            if uri.startswith(PAGES):
                page = self.notes.fetch_page(uri.removeprefix(PAGES), "fetch" if self.notes.fault == "page" else "careful")
                return {"result": {"contents": [{"uri": uri, "mimeType": "text/plain", "text": page}]}}
            path = urllib.parse.unquote(uri.removeprefix(ADDRESS)) if uri.startswith(ADDRESS) else ""
            path = self.notes.inside(path, "dots" if self.notes.fault == "template" else "")
            with open(path, encoding="utf-8") as note:
                return {"result": {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": note.read()}]}}
        except (Refused, OSError, ValueError):
            return self.error(-32002, "Resource not found")


def main(folder, fault=""):
    notes = Notes(folder, fault)
    server = NotesServer(notes)

    def call(name, arguments):
        entry = next((entry for entry in TOOLS if entry["name"] == name), None)
        if entry is None:
            raise LookupError(name)
        if fault == "hang" and server.calls > 1:
            time.sleep(600)
        if fault == "log":
            print(f"{name} with {json.dumps(dict(os.environ))}", file=sys.stderr, flush=True)
        needed = entry["inputSchema"]["required"]
        if not all(isinstance(arguments.get(one), str) for one in needed):
            seen = f" {dict(os.environ)}" if fault == "error" else ""
            raise Refused(f"{' and '.join(needed)} must be given as texts{seen}")
        try:
            return text(getattr(notes, name)(**{one: arguments[one] for one in needed}))
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise Refused("there is no such note") from error

    server.list_tools = lambda params: {"tools": TOOLS}
    server.call_tool = call
    server.serve()


main(*sys.argv[1:])
