"""Wheels for PyPI: the program of a platform, which `pip install` and `uvx` put on the path as it is.

A wheel is a ZIP file whose `RECORD` lists each file with its hash (the binary distribution format of the Python
Packaging User Guide).
"""

import base64
import hashlib
from email.message import EmailMessage
from email.policy import EmailPolicy
from pathlib import Path

import project
from archive import Archive, Member, write_zip

FOLDER = f"mcprove-{project.PYTHON_VERSION}"
# Fields of metadata are never folded.
POLICY = EmailPolicy(max_line_length=0, utf8=True)


def make(archives: list[Archive], out: Path) -> list[Path]:
    """Writes a wheel for each platform."""
    return [write(archive, out) for archive in archives]


def write(archive: Archive, out: Path) -> Path:
    tags = archive.platform.wheel
    members = [
        archive.program._replace(name=f"{FOLDER}.data/scripts/{archive.platform.program}"),
        Member(f"{FOLDER}.dist-info/METADATA", metadata()),
        Member(f"{FOLDER}.dist-info/WHEEL", description(tags)),
    ]
    members += [
        Member(f"{FOLDER}.dist-info/licenses/{path.name}", path.read_bytes()) for path in project.LICENSES
    ]
    record = f"{FOLDER}.dist-info/RECORD"
    lines = [f"{member.name},sha256={digest(member.content)},{len(member.content)}\n" for member in sorted(members)]
    members.append(Member(record, "".join([*lines, f"{record},,\n"]).encode()))
    path = out / f"{FOLDER}-py3-none-{'.'.join(tags)}.whl"
    write_zip(path, members)
    return path


def digest(content: bytes) -> str:
    """A hash as `RECORD` has it: base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def fields(pairs: list[tuple[str, str]], body: str = "") -> bytes:
    message = EmailMessage(POLICY)
    for name, value in pairs:
        message[name] = value
    return bytes(message) + body.encode()


def metadata() -> bytes:
    """The core metadata, version 2.4 (PEP 639)."""
    pairs = [
        ("Metadata-Version", "2.4"),
        ("Name", "mcprove"),
        ("Version", project.PYTHON_VERSION),
        ("Summary", project.DESCRIPTION),
        ("Author", project.AUTHORS),
        ("License-Expression", project.LICENSE),
        *[("License-File", path.name) for path in project.LICENSES],
        ("Keywords", ",".join(project.KEYWORDS)),
        ("Project-URL", f"Source, {project.REPOSITORY}"),
        ("Requires-Python", ">=3.8"),
        ("Description-Content-Type", "text/markdown"),
    ]
    return fields(pairs, project.README.read_text(encoding="utf-8"))


def description(tags: tuple[str, ...]) -> bytes:
    """What the wheel is; it has a program, so it belongs to one platform and to no version of Python."""
    pairs = [("Wheel-Version", "1.0"), ("Generator", "mcprove"), ("Root-Is-Purelib", "false")]
    return fields([*pairs, *[("Tag", f"py3-none-{tag}") for tag in tags]])
