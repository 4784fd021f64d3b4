"""A correct server that can be caught at any stage: `slow_at.py STAGE [PORT]`, over stdio or, with a port, over HTTP.

It writes every request into the file `marks.txt` before it answers, and hangs at the stage: `start`, or a method.
"""

import sys

sys.dont_write_bytecode = True
from little import Server  # noqa: E402
from little_http import HttpServer, end_with_caller, hang  # noqa: E402


def mark(words):
    with open("marks.txt", "a", encoding="utf-8") as file:
        file.write(words + "\n")


def main(stage, port=None):
    mark("start")
    if stage == "start":
        hang()
    server = HttpServer("legacy") if port else Server(1)
    little = server.little if port else server
    correct = little.answer

    def answer(method, params):
        mark(" ".join([method, params.get("name", "")]).strip())
        if method == stage:
            hang()
        return correct(method, params)

    little.answer = answer
    if not port:
        return server.serve()
    end_with_caller()
    server.listen(int(port), None)


if __name__ == "__main__":
    main(*sys.argv[1:])
