"""Profiles that were deleted: kept aside, so that it can be undone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from paddock.errors import AppError
from paddock.store.files import parse_toml
from paddock.store.profile_form import Profile, read_profile
from paddock.text import Text

_ENDING = ".deleted"


@dataclass(frozen=True)
class Deleted:
    """One deleted profile. `when`: UTC, ISO 8601."""

    profile: Profile
    when: str
    path: Path


class DeletedProfiles:
    """One folder; whoever writes holds the lock of the profiles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, path: Path) -> None:
        """Move a profile's file here. AppError when the folder cannot be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            os.replace(path, self._free(path.stem))
            path.with_name(path.name + ".bak").unlink(missing_ok=True)
        except OSError as error:
            raise AppError(Text("“{path}” could not be deleted.", path=path),
                           why=error.strerror or str(error)) from error

    def _free(self, stem: str) -> Path:
        head = f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
        for count in range(1, 1000):
            path = self.folder / f"{head}-{count:03d} {stem}{_ENDING}"
            if not path.exists():
                return path
        raise OSError(17, "File exists")

    def all(self) -> list[Deleted]:
        """The last deleted first; files that cannot be read are left out."""
        try:
            paths = sorted(self.folder.glob(f"*{_ENDING}"), reverse=True)
        except OSError:
            return []
        return [found for path in paths if (found := _read(path)) is not None]


def _read(path: Path) -> Deleted | None:
    try:
        stem = path.stem.partition(" ")[2]
        profile = read_profile(parse_toml(path.read_bytes(), path), stem, path)
        when = datetime.strptime(path.name[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except (OSError, AppError, ValueError):
        return None
    return Deleted(profile, when.isoformat(timespec="seconds"), path)
