"""Where llama.cpp is usually put: the names of its programs, and the folders of installers and packages."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

WINDOWS = sys.platform == "win32"
EXE = ".exe" if WINDOWS else ""
SERVER_NAMES = ("llama", "llama-server")
OLD_SERVER_NAME = "server"
_INSIDE = ("", "bin", "build/bin", "build/bin/Release", "build/bin/RelWithDebInfo", "bin/Release", "Release")
_PATTERNS = ("llama*", "ik_llama*")
_ROOTS = ("", "Downloads", "src", "git", "code", "projects", "dev", "repos", "apps", "Apps", "opt", ".local/share")
_MOST = 40


def inside(folder: Path) -> Iterator[Path]:
    """The server program in a folder that somebody named, or in the places where a build or an archive puts it."""
    for part in _INSIDE:
        if program := server_in(folder / part, old=True):
            yield program


def server_in(folder: Path, *, old: bool = False) -> Path | None:
    """The server program of one folder: `llama` before `llama-server`, since it has the tools too."""
    for name in (*SERVER_NAMES, OLD_SERVER_NAME) if old else SERVER_NAMES:
        path = folder / f"{name}{EXE}"
        if is_file(path):
            return path
    return None


def is_file(path: Path) -> bool:
    """Path.is_file without the errors of folders that cannot be entered."""
    try:
        return path.is_file()
    except OSError:
        return False


def well_known(home: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Folders that installers and people use, with a name for each kind of place."""
    yield from _installers(home, environ)
    yield from _conda(home, environ)
    yield from _unpacked(home)


def _installers(home: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    for part in (".local/bin", ".llama/bin", ".llama", ".llama.app/bin", ".llama-app/bin", "bin"):
        yield home / part, "llama.app" if "llama" in part else "home"
    if WINDOWS:
        local = Path(environ.get("LOCALAPPDATA") or home / "AppData/Local")
        programs = Path(environ.get("PROGRAMFILES") or "C:/Program Files")
        yield from ((local / part, "llama.app") for part in ("llama.app/bin", "llama.app", "Programs/llama.app"))
        yield local / "Microsoft/WinGet/Links", "winget"
        yield from ((folder, "winget") for folder in _some(local / "Microsoft/WinGet/Packages", "ggml.llamacpp*"))
        yield from ((programs / part, "programs") for part in ("llama.cpp", "llama.cpp/bin"))
        return
    for prefix in ("/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew", str(home / ".linuxbrew")):
        yield Path(prefix, "bin"), "brew" if "brew" in prefix or Path(prefix, "Cellar").is_dir() else prefix
    yield Path("/opt/local/bin"), "macports"
    for prefix in (str(home / ".nix-profile"), "/nix/var/nix/profiles/default", "/run/current-system/sw"):
        yield Path(prefix, "bin"), "nix"
    yield Path("/usr/bin"), "system"
    yield from ((folder, "/opt") for base in _some(Path("/opt"), "llama*") for folder in _parts(base))


def _conda(home: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    roots = [home / name for name in ("miniconda3", "miniforge3", "mambaforge", "anaconda3", "micromamba", ".pixi")]
    roots += [Path(environ[name]) for name in ("CONDA_PREFIX", "MAMBA_ROOT_PREFIX") if environ.get(name)]
    for root in roots:
        for prefix in (root, *_some(root / "envs", "*")):
            for part in ("bin", "Library/bin"):
                yield prefix / part, "conda"


def _unpacked(home: Path) -> Iterator[tuple[Path, str]]:
    for root in _ROOTS:
        for pattern in _PATTERNS:
            for base in _some(home / root, pattern):
                yield from ((folder, "archive") for folder in _parts(base))


def _parts(base: Path) -> Iterator[Path]:
    for part in _INSIDE:
        yield base / part
    yield from _some(base, "llama*")


def _some(folder: Path, pattern: str) -> list[Path]:
    """Sub-folders by pattern, newest name first, not endlessly many; none where the folder cannot be read."""
    try:
        return sorted((path for path in folder.glob(pattern) if path.is_dir()), reverse=True)[:_MOST]
    except OSError:
        return []
