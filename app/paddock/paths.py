"""Where things are: resources that we ship, folders that we write."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath
from urllib.parse import unquote

import platformdirs

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """The path of a shipped resource, in a checkout (resources/) or an installed copy (paddock/_resources)."""
    installed = _PACKAGE / "_resources" / name
    return installed if installed.exists() else _PACKAGE.parents[1] / "resources" / name


_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»"}
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\|//\?/")
"""A drive, a share, or the long form of either at the start."""


def as_typed(text: str) -> str:
    """The path that a person meant: without the space and the one pair of quotes that came with a paste.

    "Copy as path" on Windows quotes it, a terminal leaves a space behind it, a file manager gives a file:// address.
    A file that has just this name, quotes and all, is meant as it is.
    """
    if os.path.lexists(text):
        return text
    path = text.strip()
    if len(path) > 1 and _QUOTES.get(path[0]) == path[-1]:
        path = path[1:-1].strip()
    if path.lower().startswith("file://"):
        path = _from_uri(path)
    return path


def _from_uri(address: str) -> str:
    host, slash, path = unquote(address[len("file://"):]).partition("/")
    if re.match(r"[A-Za-z]:", path):
        return path
    return f"//{host}/{path}" if host not in ("", "localhost") else slash + path


def file_name(path: str) -> str:
    """The last part of a path of whatever system: one of Windows is told by its drive or share, or by backslashes alone
    (then a profile from there is read here). "" for a root."""
    windows = _WINDOWS.match(path) or ("\\" in path and "/" not in path and not os.path.lexists(path))
    return PureWindowsPath(path).name if windows else PurePath(path).name


@dataclass(frozen=True)
class DataPaths:
    """Everything that Paddock writes lives under one root; nothing is made before it is needed."""

    root: Path

    @classmethod
    def at(cls, root: str | Path | None = None) -> DataPaths:
        """The given folder, or the platform's folder for user data."""
        given = as_typed(str(root)) if root else platformdirs.user_data_dir("paddock", False)
        return cls(Path(given).expanduser().absolute())

    @property
    def settings(self) -> Path:
        return self.root / "settings.toml"

    @property
    def profiles(self) -> Path:
        return self.root / "profiles"

    @property
    def database(self) -> Path:
        return self.root / "paddock.db"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def runtime(self) -> Path:
        """Records of running servers (pid, start time, owner), one JSON file each."""
        return self.root / "run"
