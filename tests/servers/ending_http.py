"""The server of `little_http.py` that exits at a call: `python3 ending_http.py PORT CALL`."""

import os
import sys

sys.dont_write_bytecode = True
from little_http import HttpServer  # noqa: E402

server = HttpServer()
answer = server.answer
calls = iter(range(1, 1 << 30))


def answer_or_end(method, params, modern):
    if method == "tools/call" and next(calls) == int(sys.argv[2]):
        os._exit(3)
    return answer(method, params, modern)


server.answer = answer_or_end
server.listen(int(sys.argv[1]), None)
