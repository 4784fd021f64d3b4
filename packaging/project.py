"""What the packages say of the project; all of it stands in Cargo.toml and the README."""

import re
from pathlib import Path
from posixpath import join, normpath

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = (ROOT / "Cargo.toml").read_text(encoding="utf-8")


def said(key: str, manifest: str = MANIFEST) -> str:
    """The first value of a key of a manifest, such as `version` of Cargo.toml."""
    found = re.search(rf'^{key} = "([^"]*)"', manifest, re.MULTILINE)
    if not found:
        raise SystemExit(f"a manifest has no `{key}`")
    return found[1]


VERSION = said("version")
# `-rc.1` and the like are written otherwise by Python and Debian.
PARTS = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.(\d+))?", VERSION)
if not PARTS:
    raise SystemExit(f"Cargo.toml has version {VERSION}; packages need one such as 1.2.3 or 1.2.3-rc.1")
PYTHON_VERSION = PARTS[1] + ({"alpha": "a", "beta": "b", "rc": "rc"}[PARTS[2]] + PARTS[3] if PARTS[2] else "")
DEBIAN_VERSION = VERSION.replace("-", "~")
DESCRIPTION = said("description")
REPOSITORY = said("repository")
LICENSE = said("license")
AUTHORS = "The mcprove contributors"
KEYWORDS = re.findall(r'"([^"]*)"', re.search(r"^keywords = \[(.*)\]", MANIFEST, re.MULTILINE)[1])
LICENSES = [ROOT / "LICENSE-APACHE", ROOT / "LICENSE-MIT"]
# The end of a link, or a picture, whose target is a file of the repository.
LINK = re.compile(r"(!\[[^\]]*)?\]\((?![a-z]+:|#)([^)\s]+)\)")


def address(path: str, version: str = VERSION, kind: str = "blob") -> str:
    """The page of a file of the repository, as a version has it; the file itself where the kind is `raw`."""
    return f"{REPOSITORY}/{kind}/v{version}/{normpath(path)}"


def linked(text: str, folder: str = "", version: str = VERSION) -> str:
    """A page of a folder of the repository, with links and pictures that are found from everywhere."""

    def target(link: re.Match[str]) -> str:
        picture, path = link.groups()
        return f"{picture or ''}]({address(join(folder, path), version, 'raw' if picture else 'blob')})"

    return LINK.sub(target, text)


def readme(folder: str = "") -> str:
    """The README of a folder of the repository, for a package."""
    return linked((ROOT / folder / "README.md").read_text(encoding="utf-8"), folder)


def filled(template: Path, **values: str) -> str:
    """The text of a template, in which `@NAME@` stands for a value; a name without a value ends the program."""

    def value(name: re.Match[str]) -> str:
        if name[1].lower() not in values:
            raise SystemExit(f"{template.name}: nothing is known of @{name[1]}@")
        return values[name[1].lower()]

    own = {"version": VERSION, "description": DESCRIPTION, "repository": REPOSITORY, "license": LICENSE}
    values = own | values
    return re.sub(r"@([A-Z0-9_]+)@", value, template.read_text(encoding="utf-8"))
