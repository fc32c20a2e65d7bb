"""Where things are: resources that we ship, folders that we write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import platformdirs

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """The path of a shipped resource, in a checkout (resources/) or an installed copy (paddock/_resources)."""
    installed = _PACKAGE / "_resources" / name
    return installed if installed.exists() else _PACKAGE.parents[1] / "resources" / name


@dataclass(frozen=True)
class DataPaths:
    """Everything that Paddock writes lives under one root; nothing is made before it is needed."""

    root: Path

    @classmethod
    def at(cls, root: str | Path | None = None) -> DataPaths:
        """The given folder, or the platform's folder for user data."""
        return cls(Path(root).expanduser().absolute() if root else Path(platformdirs.user_data_dir("paddock", False)))

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
