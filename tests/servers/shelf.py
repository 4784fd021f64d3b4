"""A shelf over stdio: shelf.py [FILE]. It keeps its books in memory, or in a file."""

import json
import os
import sys

sys.dont_write_bytecode = True
from little import Server, text, tool  # noqa: E402

KEY = {"key": {"type": "string", "minLength": 1}}
TOOLS = [
    tool("list_books", "Lists the books.", {}, []),
    {**tool("put_book", "Puts a book on the shelf.", KEY, ["key"]), "annotations": {"destructiveHint": False, "idempotentHint": True}},
    {**tool("remove_book", "Removes a book.", KEY, ["key"]), "annotations": {"destructiveHint": True, "idempotentHint": True}},
]


class Shelf:
    def __init__(self, file=None):
        self.file = file
        self.books = []
        if file and os.path.exists(file):
            with open(file, encoding="utf-8") as stored:
                self.books = json.load(stored)

    def call(self, name, arguments):
        if name == "put_book" and arguments["key"] not in self.books:
            self.books.append(arguments["key"])
        if name == "remove_book" and arguments["key"] in self.books:
            self.books.remove(arguments["key"])
        if self.file:
            with open(self.file + ".new", "w", encoding="utf-8") as stored:
                json.dump(self.books, stored)
            os.replace(self.file + ".new", self.file)
        return text(json.dumps(self.books))


server = Server(1, "shelf")
server.list_tools = lambda params: {"tools": TOOLS}
server.call_tool = Shelf(*sys.argv[1:]).call
server.serve()
