"""What package managers read that download the archives: Homebrew, Scoop, winget; checksums, and the shell installer."""

import json
from pathlib import Path

import project
from archive import Archive, folder_of

HERE = Path(__file__).resolve().parent

# The systems of Homebrew, as the template of the formula names them.
HOMEBREW = {
    "mac_arm": "aarch64-apple-darwin",
    "mac_intel": "x86_64-apple-darwin",
    "linux_arm": "aarch64-unknown-linux-musl",
    "linux_intel": "x86_64-unknown-linux-musl",
}


def make(archives: list[Archive], out: Path) -> list[Path]:
    """Writes `SHA256SUMS` over the archives, the installer, and the manifests of each package manager that has an archive
    for its system."""
    sums = [f"{archive.sha256}  {archive.path.name}\n" for archive in archives]
    paths = [
        written(out / "SHA256SUMS", "".join(sums)),
        written(out / "install.sh", project.filled(HERE / "install.sh")),
    ]
    by_target = {archive.platform.target: archive for archive in archives}
    if by_target.keys() >= set(HOMEBREW.values()):
        paths += homebrew(by_target, out)
    for_windows = by_target.get("x86_64-pc-windows-msvc")
    if for_windows:
        paths += scoop(for_windows, out) + winget(for_windows, out)
    return paths


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def address(archive: Archive) -> str:
    return f"{project.REPOSITORY}/releases/download/v{project.VERSION}/{archive.path.name}"


def homebrew(archives: dict[str, Archive], out: Path) -> list[Path]:
    """The formula of a tap."""
    values = {}
    for name, target in HOMEBREW.items():
        values |= {f"{name}_url": address(archives[target]), f"{name}_sha256": archives[target].sha256}
    return [written(out / "homebrew/mcprove.rb", project.filled(HERE / "homebrew/mcprove.rb", **values))]


def scoop(archive: Archive, out: Path) -> list[Path]:
    """The manifest of a bucket."""
    folder = folder_of(archive.platform)
    manifest = {
        "version": project.VERSION,
        "description": project.DESCRIPTION,
        "homepage": project.REPOSITORY,
        "license": project.LICENSE.replace(" OR ", "|"),
        "architecture": {"64bit": {"url": address(archive), "hash": archive.sha256, "extract_dir": folder}},
        "bin": archive.platform.program,
        "checkver": "github",
        "autoupdate": {
            "architecture": {
                "64bit": {
                    "url": address(archive).replace(project.VERSION, "$version"),
                    "extract_dir": folder.replace(project.VERSION, "$version"),
                }
            }
        },
    }
    return [written(out / "scoop/mcprove.json", json.dumps(manifest, indent=4) + "\n")]


def winget(archive: Archive, out: Path) -> list[Path]:
    """The three manifests of a package, as the community repository keeps them."""
    values = {
        "url": address(archive),
        "sha256": archive.sha256.upper(),
        "file": f"{folder_of(archive.platform)}\\{archive.platform.program}",
        "tags": "".join(f"\n- {word}" for word in project.KEYWORDS),
    }
    place = out / f"winget/manifests/m/mcprove/mcprove/{project.VERSION}"
    templates = sorted((HERE / "winget").glob("*.yaml"))
    return [written(place / template.name, project.filled(template, **values)) for template in templates]
