"""Ends at once, with a long last line of standard error that says at its end how to mend it."""

import sys

sys.exit(
    "Traceback (most recent call last):\n  File \"server.py\", line 3, in <module>\n    from sdk.server import Server\n"
    "ImportError: this server was written for the first version of the SDK, and the second one that is installed here has "
    "moved `Server` to another place, so it cannot start; change the import, or pin 'sdk<2'"
)
