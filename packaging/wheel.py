"""Wheels for PyPI: the program of a platform, which `pip install` and `uvx` put on the path as it is, and the plugin for
pytest, which looks for it there.

A wheel is a ZIP file whose `RECORD` lists each file with its hash (the binary distribution format of the Python
Packaging User Guide).
"""

import base64
import hashlib
import re
from email.message import EmailMessage
from email.policy import EmailPolicy
from pathlib import Path

import project
from archive import Archive, Member, write_zip

PLUGIN = Path(__file__).resolve().parent / "pytest"
# Fields of metadata are never folded.
POLICY = EmailPolicy(max_line_length=0, utf8=True)


def make(archives: list[Archive], out: Path) -> list[Path]:
    """Writes a wheel for each platform, and one of the plugin for all of them."""
    return [*[write_program(archive, out) for archive in archives], write_plugin(out)]


def write_program(archive: Archive, out: Path) -> Path:
    program = archive.program._replace(name=f"{folder_of('mcprove')}.data/scripts/{archive.platform.program}")
    about = metadata("mcprove", project.DESCRIPTION, project.readme(), [("Requires-Python", ">=3.8")])
    # It has a program, so it belongs to one platform and to no version of Python.
    tags = [f"py3-none-{tag}" for tag in archive.platform.wheel]
    return write("mcprove", [program], about, tags, out)


def write_plugin(out: Path) -> Path:
    text = (PLUGIN / "pyproject.toml").read_text(encoding="utf-8")
    needs = re.findall(r'"([^"]*)"', re.search(r"^dependencies = \[(.*)\]", text, re.MULTILINE)[1])
    fields = [("Requires-Python", project.said("requires-python", text)), ("Classifier", "Framework :: Pytest")]
    fields += [("Requires-Dist", need) for need in needs]
    about = metadata("pytest-mcprove", project.said("description", text), project.readme("packaging/pytest"), fields)
    module = "pytest_mcprove"
    members = [
        Member(f"{module}.py", (PLUGIN / f"{module}.py").read_bytes()),
        Member(f"{folder_of(module)}.dist-info/entry_points.txt", f"[pytest11]\nmcprove = {module}\n".encode()),
    ]
    return write(module, members, about, ["py3-none-any"], out)


def folder_of(name: str) -> str:
    return f"{name}-{project.PYTHON_VERSION}"


def write(name: str, members: list[Member], about: bytes, tags: list[str], out: Path) -> Path:
    """Writes a wheel with these files and its own descriptions; its name begins with that of the package."""
    described = f"{folder_of(name)}.dist-info"
    members = [
        *members,
        Member(f"{described}/METADATA", about),
        Member(f"{described}/WHEEL", description(tags)),
        *[Member(f"{described}/licenses/{path.name}", path.read_bytes()) for path in project.LICENSES],
    ]
    record = f"{described}/RECORD"
    lines = [f"{member.name},sha256={digest(member.content)},{len(member.content)}\n" for member in sorted(members)]
    members.append(Member(record, "".join([*lines, f"{record},,\n"]).encode()))
    # The platforms of all tags, whose other parts are the same.
    platforms = ".".join(tag.removeprefix("py3-none-") for tag in tags)
    path = out / f"{folder_of(name)}-py3-none-{platforms}.whl"
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


def metadata(name: str, summary: str, readme: str, more: list[tuple[str, str]]) -> bytes:
    """The core metadata, version 2.4 (PEP 639)."""
    pairs = [
        ("Metadata-Version", "2.4"),
        ("Name", name),
        ("Version", project.PYTHON_VERSION),
        ("Summary", summary),
        ("Author", project.AUTHORS),
        ("License-Expression", project.LICENSE),
        *[("License-File", path.name) for path in project.LICENSES],
        ("Keywords", ",".join(project.KEYWORDS)),
        ("Project-URL", f"Source, {project.REPOSITORY}"),
        *more,
        ("Description-Content-Type", "text/markdown"),
    ]
    return fields(pairs, readme)


def description(tags: list[str]) -> bytes:
    """What the wheel is."""
    is_pure = "true" if tags == ["py3-none-any"] else "false"
    pairs = [("Wheel-Version", "1.0"), ("Generator", "mcprove"), ("Root-Is-Purelib", is_pure)]
    return fields([*pairs, *[("Tag", tag) for tag in tags]])
