#!/usr/bin/env python3
"""Documents of a kind of their own, records and sums (2025-11-25, stdio): `documents.py FOLDER [FAULT]`.

Faults: `dots` follows any path, `same` answers every path alike, `rewrite` changes any document, `address` puts the id of a
record into an address as it is, `list` does so for its end only, `eval` evaluates a sum. No faults: with `path`, the id of
a record is the path of a file, and with `endpoint` it is said to be a part of an address.
"""

import ast
import operator
import os
import posixpath
import sys
import urllib.parse

sys.dont_write_bytecode = True
from little import Refused, Server, text, tool  # noqa: E402

TEXT = {"type": "string"}
WRITES = {"readOnlyHint": False, "destructiveHint": False}
SHORT = {"type": "string", "maxLength": 4}
TOOLS = [
    tool("get_document_text", "Returns the text of the document `filename`.", {"filename": TEXT}, ["filename"]),
    {**tool("stamp_document", "Adds a stamp to `filename`.", {"filename": TEXT}, ["filename"]), "annotations": WRITES},
    tool("open_drawer", "Says what is in the folder.", {"folder": SHORT}, ["folder"]),
    tool("get_record", "Returns the record with the id `id`.", {"id": TEXT}, ["id"]),
    tool("calculate", "Computes `sum`, as in 1+2.", {"sum": TEXT}, ["sum"]),
]
PAGES = {"/records/r1": "Ann, 1990", "/records": "Ann, Bob"}
SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub}


class Documents:
    def __init__(self, folder, fault=""):
        self.folder, self.fault = os.path.realpath(folder), fault

    def document(self, filename, fault):
        path = os.path.join(self.folder, filename)
        if self.fault != fault and os.path.commonpath([os.path.realpath(path), self.folder]) != self.folder:
            raise Refused(f"{filename} is outside")
        with open(path, encoding="utf-8") as file:
            content = file.read()
        if not content.startswith("DOC1 "):
            raise Refused(f"{filename} is no document")
        return path, content

    def get_document_text(self, filename):
        if self.fault == "same":
            return "A plan."
        return self.document(filename, "dots")[1].removeprefix("DOC1 ")

    def stamp_document(self, filename):
        path, content = self.document(filename, "rewrite")
        with open(path, "w", encoding="utf-8") as file:
            file.write(content.removesuffix("#") if content.endswith("#") else content + "#")
        return "stamped"

    def open_drawer(self, folder):
        return ", ".join(sorted(os.listdir(self.document_folder(folder))))

    def document_folder(self, folder):
        if folder != ".":
            raise Refused("there is one folder only")
        return self.folder

    def get_record(self, id):
        if self.fault == "path":
            id = posixpath.normpath(id)
        part = id if self.fault in ("address", "list", "endpoint") else urllib.parse.quote(id, safe="")
        path = urllib.parse.urlsplit(f"https://records.test/records/{part}").path
        if self.fault in ("address", "endpoint") or path.endswith("%2F.."):
            path = posixpath.normpath(urllib.parse.unquote(path))
        elif self.fault == "list":
            path = f"/records/{part}"
        page = PAGES.get(path)
        if page is None:
            raise Refused("there is no such record")
        return page

    def calculate(self, sum):
        if self.fault == "eval":
            return str(eval(sum))
        return str(self.value(ast.parse(sum, mode="eval").body))

    def value(self, node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
            return SIGNS[type(node.op)](self.value(node.left), self.value(node.right))
        raise Refused("this is no sum")


def main(folder, fault=""):
    documents = Documents(folder, fault)
    server = Server(0, "documents")

    def call(name, arguments):
        entry = next((entry for entry in TOOLS if entry["name"] == name), None)
        if entry is None:
            raise LookupError(name)
        needed = entry["inputSchema"]["required"]
        if not all(isinstance(arguments.get(one), str) for one in needed):
            raise Refused(f"{' and '.join(needed)} must be given as texts")
        try:
            return text(getattr(documents, name)(**{one: arguments[one] for one in needed}))
        except (OSError, ValueError, SyntaxError, NameError, TypeError, RecursionError) as error:
            raise Refused(f"this cannot be served: {type(error).__name__}") from error

    if fault == "endpoint":
        TOOLS[3]["inputSchema"]["properties"]["id"] = {**TEXT, "description": "The endpoint below `/records`, such as `r1?x=1`."}
    server.list_tools = lambda params: {"tools": TOOLS}
    server.call_tool = call
    server.serve()


main(*sys.argv[1:])
