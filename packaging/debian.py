"""A package for Debian and its descendants: the program, its manual and its completions."""

import gzip
import os
import subprocess
import tempfile
from pathlib import Path

import project
from archive import MOMENT, Archive, Member

HERE = Path(__file__).resolve().parent / "debian"
# Where Debian looks for completions.
PLACES = {
    "mcprove.bash": "usr/share/bash-completion/completions/mcprove",
    "_mcprove": "usr/share/zsh/vendor-completions/_mcprove",
    "mcprove.fish": "usr/share/fish/vendor_completions.d/mcprove.fish",
}


def make(archives: list[Archive], out: Path) -> list[Path]:
    """Writes a package for each architecture of Debian."""
    return [write(archive, out) for archive in archives if archive.platform.debian]


def zipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=MOMENT)


def files(archive: Archive) -> list[Member]:
    """What is installed, below `/`."""
    documents = "usr/share/doc/mcprove"
    changes = project.filled(HERE / "changelog", date=debian_date(), debian_version=project.DEBIAN_VERSION)
    found = [
        archive.program._replace(name="usr/bin/mcprove"),
        Member(f"{documents}/copyright", project.filled(HERE / "copyright").encode()),
        Member(f"{documents}/changelog.gz", zipped(changes.encode())),
        Member("usr/share/lintian/overrides/mcprove", (HERE / "lintian-overrides").read_bytes()),
    ]
    for name, member in archive.members.items():
        if name.startswith("man/"):
            found.append(Member(f"usr/share/man/man1/{Path(name).name}.gz", zipped(member.content)))
    found += [Member(place, archive.members[f"completions/{file}"].content) for file, place in PLACES.items()]
    return found


def debian_date() -> str:
    return subprocess.run(
        ["date", "--utc", "--rfc-email", f"--date=@{MOMENT}"], capture_output=True, text=True, check=True
    ).stdout.strip()


def write(archive: Archive, out: Path) -> Path:
    path = out / f"mcprove_{project.DEBIAN_VERSION}_{archive.platform.debian}.deb"
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "mcprove"
        installed = files(archive)
        control = project.filled(
            HERE / "control",
            debian_version=project.DEBIAN_VERSION,
            architecture=archive.platform.debian,
            size=str(sum(len(member.content) for member in installed) // 1024),
        )
        for member in [*installed, Member("DEBIAN/control", control.encode())]:
            file = tree / member.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(member.content)
            file.chmod(0o755 if member.is_program else 0o644)
        # Every file is from the same moment: the same content makes the same package.
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(MOMENT)}
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, path]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return path
