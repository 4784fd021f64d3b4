"""Packages for npm: `mcprove`, which every platform installs, one for each platform with its program, and the plugin for
Vitest.

`mcprove` names the others as optional dependencies with their `os` and `cpu`, and npm installs the one that fits: no
script runs while packages are installed.
"""

import json
from pathlib import Path

import project
from archive import Archive, Member, write_tar
from platforms import Platform

HERE = Path(__file__).resolve().parent / "npm"
PLUGIN = Path(__file__).resolve().parent / "vitest"
SCOPE = "@mcprove"


def name_of(platform: Platform) -> str:
    return f"{SCOPE}/{'-'.join(platform.node)}"


def about(name: str, description: str) -> dict[str, object]:
    """What all packages say."""
    return {
        "name": name,
        "version": project.VERSION,
        "description": description,
        "license": project.LICENSE,
        "author": project.AUTHORS,
        "homepage": f"{project.REPOSITORY}#readme",
        "repository": {"type": "git", "url": f"git+{project.REPOSITORY}.git"},
    }


def make(archives: list[Archive], out: Path) -> list[Path]:
    """Writes a file for `npm install` or `npm publish` for each platform, one that names them all, and the plugin."""
    paths = []
    for archive in archives:
        system, processor = archive.platform.node
        manifest = about(name_of(archive.platform), f"mcprove for {system} on {processor}")
        manifest |= {"os": [system], "cpu": [processor], "preferUnplugged": True}
        readme = f"The program of [mcprove]({project.REPOSITORY}) for {system} on {processor}. Install `mcprove` instead.\n"
        members = [archive.program._replace(name=f"bin/{archive.platform.program}")]
        paths.append(write(out, manifest, [*members, Member("README.md", readme.encode())]))
    manifest = about("mcprove", project.DESCRIPTION)
    manifest |= {
        "keywords": project.KEYWORDS,
        "bin": {"mcprove": "bin/mcprove.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {name_of(archive.platform): project.VERSION for archive in archives},
    }
    launcher = Member("bin/mcprove.js", (HERE / "launcher.js").read_bytes(), is_program=True)
    paths.append(write(out, manifest, [launcher, Member("README.md", project.readme().encode())]))
    manifest = json.loads((PLUGIN / "package.json").read_text(encoding="utf-8")) | {"version": project.VERSION}
    files = [Member(name, (PLUGIN / name).read_bytes()) for name in manifest["files"]]
    files.append(Member("README.md", project.readme("packaging/vitest").encode()))
    return [*paths, write(out, manifest, files)]


def write(out: Path, manifest: dict[str, object], members: list[Member]) -> Path:
    """Writes the tarball of a package, named as `npm pack` names it."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    members = [Member("package.json", text.encode()), *members]
    members += [Member(path.name, path.read_bytes()) for path in project.LICENSES]
    path = out / f"{str(manifest['name']).removeprefix('@').replace('/', '-')}-{project.VERSION}.tgz"
    write_tar(path, [member._replace(name=f"package/{member.name}") for member in members])
    return path
