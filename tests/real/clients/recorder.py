"""Stands between a client and a server over HTTP, copies bytes, and keeps what passed."""

import socket
import threading

# About one connection, and not about the message.
OF_CONNECTIONS = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "te"}


class Recorder:
    """A port whose connections lead to another one."""

    def __init__(self, upstream):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.upstream = upstream
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.upstream))
            asked, said = bytearray(), bytearray()
            self.connections.append((asked, said))
            for source, target, kept in [(client, server, asked), (server, client, said)]:
                threading.Thread(target=copy, args=(source, target, kept), daemon=True).start()

    def exchanges(self):
        """What was asked and answered, without order: its lines, its headers and its body."""
        found = []
        for asked, said in self.connections:
            found += list(zip(messages(bytes(asked)), messages(bytes(said))))
        return sorted(found)


def copy(source, target, kept):
    try:
        while piece := source.recv(65536):
            kept += piece
            target.sendall(piece)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def messages(text):
    """The messages of one direction; the last one may be a part."""
    found = []
    while b"\r\n\r\n" in text:
        head, _, text = text.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        of = dict(headers)
        if of.get("transfer-encoding") == "chunked":
            body, text = chunks(text)
        else:
            length = int(of.get("content-length", 0))
            body, text = text[:length], text[length:]
        # The words of a status are any.
        line = first.split()[1] if first.startswith("HTTP/") else first
        found.append((line, sorted(header for header in headers if header[0] not in OF_CONNECTIONS), body))
    return found


def chunks(text):
    body = b""
    while True:
        size, _, rest = text.partition(b"\r\n")
        if not size or not rest:
            return body, b""
        length = int(size, 16)
        body, text = body + rest[:length], rest[length + 2 :]
        if length == 0:
            return body, text
