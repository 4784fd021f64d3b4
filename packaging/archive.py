"""Archives of a program with its manual and completions: what is downloaded, and what the packages are made of."""

import gzip
import hashlib
import io
import os
import re
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Iterator, NamedTuple

import project
from platforms import PLATFORMS, Platform

COMPLETIONS = {"bash": "mcprove.bash", "zsh": "_mcprove", "fish": "mcprove.fish", "powershell": "_mcprove.ps1"}

# The time that files in packages have, so that the same content makes the same bytes.
MOMENT = int(os.environ.get("SOURCE_DATE_EPOCH", "1577836800"))


class Member(NamedTuple):
    """A file in an archive."""

    name: str
    content: bytes
    is_program: bool = False


class Archive(NamedTuple):
    """An archive that was made before."""

    platform: Platform
    path: Path
    members: dict[str, Member]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @property
    def program(self) -> Member:
        return self.members[self.platform.program]


def folder_of(platform: Platform) -> str:
    """The name of an archive, and of the one folder in it."""
    return f"mcprove-{project.VERSION}-{platform.target}"


def make(platform: Platform, program: Path, out: Path) -> Path:
    """Writes the archive of a program, which has to run on this machine, since it prints its own manual."""
    ran = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()
    if ran[-1] != project.VERSION:
        raise SystemExit(f"{program} is version {ran[-1]}; Cargo.toml has {project.VERSION}")
    members = [Member(platform.program, program.read_bytes(), is_program=True)]
    members += [Member(path.name, path.read_bytes()) for path in project.LICENSES]
    members.append(Member("README.md", project.readme().encode()))
    members += [Member(f"man/{name}.1", text) for name, text in manual(program, [])]
    members += [
        Member(f"completions/{file}", output_of(program, "completions", shell)) for shell, file in COMPLETIONS.items()
    ]
    path = out / f"{folder_of(platform)}{platform.suffix}"
    write = write_zip if platform.is_windows else write_tar
    write(path, [member._replace(name=f"{folder_of(platform)}/{member.name}") for member in members])
    return path


def output_of(program: Path, *arguments: str) -> bytes:
    return subprocess.run([program, *arguments], capture_output=True, check=True).stdout


def manual(program: Path, command: list[str]) -> Iterator[tuple[str, bytes]]:
    """The pages of a command and of the commands below it, which its page names."""
    page = output_of(program, "man", *command)
    title = "-".join(["mcprove", *command])
    yield title, page
    below = re.escape(title.replace("-", r"\-") + r"\-").encode()
    for name in re.findall(rb"^" + below + rb"([a-z\\-]+)\(1\)$", page, re.MULTILINE):
        plain = name.decode().replace("\\", "")
        if plain != "help":
            yield from manual(program, [*command, plain])


def write_tar(path: Path, members: list[Member]) -> None:
    """Writes a `.tar.gz`: the same members make the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member in sorted(members):
            info = tarfile.TarInfo(member.name)
            info.size, info.mtime, info.mode = len(member.content), MOMENT, 0o755 if member.is_program else 0o644
            tar.addfile(info, io.BytesIO(member.content))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=MOMENT))


def write_zip(path: Path, members: list[Member]) -> None:
    """Writes a `.zip`: the same members make the same bytes."""
    with zipfile.ZipFile(path, "w") as packed:
        for member in sorted(members):
            info = zipfile.ZipInfo(member.name, time.gmtime(MOMENT)[:6])
            info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if member.is_program else 0o100644) << 16
            packed.writestr(info, member.content)


def read(platform: Platform, path: Path) -> Archive:
    """Reads an archive."""
    if platform.is_windows:
        with zipfile.ZipFile(path) as packed:
            contents = {name: packed.read(name) for name in packed.namelist()}
    else:
        with tarfile.open(path) as packed:
            contents = {info.name: packed.extractfile(info).read() for info in packed if info.isfile()}
    members = {}
    for name, content in contents.items():
        name = name.removeprefix(f"{folder_of(platform)}/")
        members[name] = Member(name, content, is_program=name == platform.program)
    return Archive(platform, path, members)


def found_in(folder: Path) -> list[Archive]:
    """The archives of this version in a folder, in the order of the platforms; ends the program if there is none."""
    paths = [(platform, folder / f"{folder_of(platform)}{platform.suffix}") for platform in PLATFORMS]
    archives = [read(platform, path) for platform, path in paths if path.is_file()]
    if not archives:
        raise SystemExit(f"{folder} has no archive of version {project.VERSION}; `packaging/make archive` makes them")
    return archives
