"""Looks for a secret in every file below a folder, in every form in which values travel: `find_secret.py FOLDER SECRET`.

Knows nothing about how mcprove hides secrets: it decodes whatever looks encoded, and looks again. Prints what it finds.
"""

import base64
import json
import os
import re
import sys
import urllib.parse


def readings(text):
    """The text, and what is in it once decoded."""
    yield "as it is", text
    yield "percent-encoded", urllib.parse.unquote(text, errors="replace")
    yield "escaped", text.replace("\\\\", "\\").replace('\\"', '"').replace("\\/", "/")
    yield "escaped for XML", text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")
    for run in re.findall(r"[0-9a-fA-F]{16,}", text):
        yield "as hexadecimal digits", bytes.fromhex(run[: len(run) // 2 * 2]).decode("latin-1")
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", text):
        plain = run.replace("-", "+").replace("_", "/")
        for start in range(4):
            part = plain[start:]
            part = part[: len(part) // 4 * 4]
            yield "as base64", base64.b64decode(part).decode("latin-1")


def pieces(secret):
    """Parts that tell too much."""
    length = max(8, len(secret) // 2)
    return {secret[at : at + length] for at in range(len(secret) - length + 1)}


def main(folder, secret):
    wanted = pieces(secret)
    for path, _, files in os.walk(folder):
        for file in files:
            with open(os.path.join(path, file), encoding="utf-8", errors="replace") as opened:
                text = file + "\n" + opened.read()
            for form, reading in readings(text):
                found = next((piece for piece in wanted if piece in reading), None)
                if found:
                    at = reading.index(found)
                    print(f"{file}: {form}: {json.dumps(reading[max(0, at - 60) : at + 60])}")
                    break


if __name__ == "__main__":
    main(*sys.argv[1:])
