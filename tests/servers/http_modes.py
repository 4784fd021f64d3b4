"""The table of modes of `hostile_http.py`, and the two ways to get into it."""

import json

MODES = {}


def mode(change):
    """Registers a mode under its function's name; it gets the server."""
    MODES[change.__name__.replace("_", "-")] = change
    return change


def strike(misbehave):
    """Registers a mode that misbehaves where an answer is due; it gets the exchange and the right answer."""

    def change(server):
        server.strike = misbehave

    change.__name__, change.__doc__ = misbehave.__name__, misbehave.__doc__
    return mode(change)


def body_of(answer):
    return json.dumps(answer).encode()


HTML = b"<!doctype html><title>Welcome</title><h1>It works!</h1><p>This is the default page.</p>"
