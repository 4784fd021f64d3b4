"""The parts of a program (CycloneDX 1.6): each package that is compiled into it, its licence, its checksum, and what
it needs. Packages that only run while the program is built are marked as excluded from it."""

import json
import re
import subprocess
from pathlib import Path

import project
from platforms import Platform


def make(platform: Platform, out: Path) -> Path:
    """Writes the list for the program of a platform, as `Cargo.lock` and the features of `Cargo.toml` have it."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", platform.target]
    ran = subprocess.run(command, cwd=project.ROOT, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"the list of packages cannot be read\n{ran.stderr}")
    text = json.dumps(document(json.loads(ran.stdout), platform), indent=2, ensure_ascii=False) + "\n"
    path = out / f"mcprove-{project.VERSION}-{platform.target}.cdx.json"
    path.write_text(text, encoding="utf-8")
    return path


def document(metadata: dict, platform: Platform) -> dict:
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    program = metadata["resolve"]["root"]
    shipped = reached(nodes, program, kinds=(None,))
    built = reached(nodes, program, kinds=(None, "build"))
    checksums = locked()
    ordered = sorted(built - {program}, key=lambda id: reference(packages[id]))
    components = [component(packages[id], checksums, is_shipped=id in shipped) for id in ordered]
    root = component(packages[program], checksums, is_shipped=True) | {"type": "application"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": root,
            "properties": [{"name": "mcprove:target", "value": platform.target}],
        },
        "components": components,
        "dependencies": [
            {
                "ref": reference(packages[id]),
                "dependsOn": sorted({reference(packages[other]) for other in needed(nodes[id], (None, "build"))}),
            }
            for id in [program, *ordered]
        ],
    }


def needed(node: dict, kinds: tuple) -> set[str]:
    """The packages that one names, for one of these uses; `None` is the ordinary one."""
    return {
        other["pkg"] for other in node["deps"] if any(kind["kind"] in kinds for kind in other["dep_kinds"])
    }


def reached(nodes: dict, program: str, kinds: tuple) -> set[str]:
    found, waiting = set(), [program]
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting += needed(nodes[id], kinds)
    return found


def locked() -> dict[tuple[str, str], str]:
    """The checksums of `Cargo.lock`, by name and version."""
    text = (project.ROOT / "Cargo.lock").read_text(encoding="utf-8")
    entry = re.compile(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]{64})"')
    return {(name, version): checksum for name, version, checksum in entry.findall(text)}


def reference(package: dict) -> str:
    """The address of a package as other tools know it."""
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: dict, checksums: dict[tuple[str, str], str], is_shipped: bool) -> dict:
    found = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "scope": "required" if is_shipped else "excluded",
        "purl": reference(package),
    }
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["license"]:
        # Older manifests write `/` for `OR`.
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["repository"]:
        found["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return found
