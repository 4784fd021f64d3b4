"""The platforms for which mcprove is built, and what each kind of package calls them."""

from typing import NamedTuple, Optional


class Platform(NamedTuple):
    """One platform: the target of the compiler, and its names elsewhere."""

    target: str
    # `process.platform` and `process.arch` of Node.
    node: tuple[str, str]
    # The platform tags of a wheel, as PEP 425, 600 and 656 have them.
    wheel: tuple[str, ...]
    # The architecture of Debian; none where there is no Debian.
    debian: Optional[str] = None

    @property
    def is_windows(self) -> bool:
        return "windows" in self.target

    @property
    def program(self) -> str:
        """The name of the program's file."""
        return "mcprove.exe" if self.is_windows else "mcprove"

    @property
    def suffix(self) -> str:
        """How the name of the archive ends: what the system unpacks without more programs."""
        return ".zip" if self.is_windows else ".tar.gz"


# Programs for Linux are linked with musl, statically: they run on every distribution.
PLATFORMS = [
    Platform(
        "x86_64-unknown-linux-musl", ("linux", "x64"), ("manylinux_2_17_x86_64", "musllinux_1_1_x86_64"), "amd64"
    ),
    Platform(
        "aarch64-unknown-linux-musl", ("linux", "arm64"), ("manylinux_2_17_aarch64", "musllinux_1_1_aarch64"), "arm64"
    ),
    Platform("aarch64-apple-darwin", ("darwin", "arm64"), ("macosx_11_0_arm64",)),
    Platform("x86_64-apple-darwin", ("darwin", "x64"), ("macosx_10_12_x86_64",)),
    Platform("x86_64-pc-windows-msvc", ("win32", "x64"), ("win_amd64",)),
]


def platform_of(target: str) -> Platform:
    """The platform of a target; ends the program if mcprove is not built for it."""
    for platform in PLATFORMS:
        if platform.target == target:
            return platform
    known = ", ".join(platform.target for platform in PLATFORMS)
    raise SystemExit(f"mcprove is not packaged for {target}; the targets are {known}")
