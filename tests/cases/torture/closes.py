"""The server of `little_http.py`, which closes the connection instead of an answer, from the thirteenth call on: closes.py PORT."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../servers"))

from little_http import HttpServer


class Closing(HttpServer):
    calls = 0

    def request(self, exchange, message):
        if message["method"] == "tools/call":
            self.calls += 1
            if self.calls > 12:
                exchange.close()
        return super().request(exchange, message)


Closing().listen(int(sys.argv[1]), None)
