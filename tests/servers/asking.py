#!/usr/bin/env python3
"""A server that asks its client, over stdio in both eras: `asking.py [MODE]`.

It serves the files in the client's roots, and asks its user for a color in a form. Modes that are faults: `anywhere`
serves files outside of the roots, `prefix` compares paths as texts, `link` follows links, `password` asks for a password
in the form, `masked` for a field that is masked, `web` has the user choose at a URL, whatever the client declares. Modes that are none: `own` asks for no roots, and serves the folder in
which it starts, `late` gets to know the roots only during its third call.
"""

import os
import sys
import urllib.parse

sys.dont_write_bytecode = True
from little import Refused, Server, text, tool  # noqa: E402

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
PATH = {"path": {"type": "string"}}
TOOLS = [
    tool("read_file", "Returns the file at `path`, in one of the client's roots.", PATH, ["path"]),
    tool("list_folder", "Lists the folder at `path`, in one of the client's roots.", PATH, ["path"]),
    tool("paint", "Paints a wall in the color that the user chooses.", {"wall": {"type": "string"}}, ["wall"]),
]
FIELDS = {"password": {"password": {"type": "string"}}, "masked": {"answer": {"type": "string", "format": "password"}}}


class AskingServer(Server):
    """Calls of tools are generators: they yield a request to the client, and get its result."""

    def __init__(self, mode):
        super().__init__(3, "asking")
        self.mode = mode
        self.offers = {}
        self.waiting = {}
        self.list_tools = lambda params: {"tools": TOOLS}

    def receive(self, message):
        params = message.get("params", {})
        if "method" not in message:
            request, calling = self.waiting.pop(message["id"])
            return self.go_on(request, calling, message.get("result", {}))
        if "id" not in message:
            return None
        meta = params.get("_meta", {})
        is_modern = META + "protocolVersion" in meta
        if message["method"] == "initialize" or is_modern:
            self.offers = meta.get(META + "clientCapabilities", {}) if is_modern else params["capabilities"]
        if message["method"] == "tools/call":
            return self.begin(message, params, is_modern)
        answer = self.answer(message["method"], params)
        if message["method"] == "server/discover":
            answer = {"result": {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}}
        if is_modern and "result" in answer:
            answer["result"].update({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
        return self.write({"id": message["id"], **answer})

    def begin(self, message, params, is_modern):
        self.calls += 1
        calling = self.calling(params.get("name"), params.get("arguments", {}))
        if not is_modern:
            return self.go_on(message["id"], calling, None)
        ended, asked = self.advance(calling, None)
        if asked is not None and "asked" in params.get("inputResponses", {}):
            ended, asked = self.advance(calling, params["inputResponses"]["asked"])
        if asked is not None:
            ended = {"result": {"resultType": "input_required", "inputRequests": {"asked": asked}}}
        elif "result" in ended:
            ended["result"]["resultType"] = "complete"
        return self.write({"id": message["id"], **ended})

    def go_on(self, request, calling, result):
        ended, asked = self.advance(calling, result)
        if asked is None:
            return self.write({"id": request, **ended})
        name = f"asked-{self.calls}"
        self.waiting[name] = (request, calling)
        return self.write({"id": name, **asked})

    def advance(self, calling, result):
        """The answer to the call, or what is asked before."""
        try:
            return None, calling.send(result)
        except StopIteration as end:
            return {"result": text(end.value)}, None
        except LookupError as error:
            return self.error(-32602, f"Unknown tool: {error}"), None
        except (Refused, OSError, ValueError) as refusal:
            return {"result": {**text(f"refused: {refusal}"), "isError": True}}, None

    def calling(self, name, arguments):
        entry = next((entry for entry in TOOLS if entry["name"] == name), None)
        if entry is None:
            raise LookupError(name)
        self.validate(entry["inputSchema"], arguments)
        if name == "paint":
            return (yield from self.paint(arguments["wall"]))
        path = yield from self.inside(arguments["path"])
        if name == "list_folder":
            return ", ".join(sorted(os.listdir(path)))
        with open(path, encoding="utf-8") as file:
            return file.read()

    def inside(self, path):
        """The path of a file, which is below a root."""
        roots = [os.getcwd()]
        if self.mode != "own":
            self.need("roots")
            answer = yield {"method": "roots/list"}
            roots = [urllib.parse.unquote(urllib.parse.urlsplit(root["uri"]).path) for root in answer["roots"]]
        joined = os.path.join(roots[0], path)
        if self.mode == "anywhere" or (self.mode == "late" and self.calls < 3):
            return joined
        found = os.path.abspath(joined) if self.mode == "link" else os.path.realpath(joined)
        if self.mode == "prefix":
            is_inside = any(found.startswith(root) for root in roots)
        else:
            is_inside = any(os.path.commonpath([found, root]) == root for root in roots)
        if not is_inside:
            raise Refused(f"{path} is in no root")
        return found

    def paint(self, wall):
        self.need("elicitation")
        if self.mode == "web":
            params = {"mode": "url", "message": f"About {wall}", "url": f"http://127.0.0.1:9/{wall}", "elicitationId": "e1"}
            answer = yield {"method": "elicitation/create", "params": params}
            return f"{wall} is painted" if answer == {"action": "accept"} else f"{wall} stays as it is"
        fields = FIELDS.get(self.mode, {"color": {"type": "string", "description": "The color of the wall."}})
        schema = {"type": "object", "properties": fields, "required": list(fields)}
        answer = yield {"method": "elicitation/create", "params": {"message": f"About {wall}", "requestedSchema": schema}}
        return f"{wall} is painted" if answer.get("action") == "accept" else f"{wall} stays as it is"

    def need(self, capability):
        if capability not in self.offers:
            raise Refused(f"the client has no {capability}")


if __name__ == "__main__":
    AskingServer((sys.argv[1:] or [""])[0]).serve()
