"""The saved states of each profile, as the files were: nothing that was saved is lost.

One folder per profile, named by its id, with one numbered file per save. They do not end in .toml, so that nothing
takes them for profiles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from paddock.errors import AppError
from paddock.store.files import atomic_write, parse_toml
from paddock.store.profile_form import Profile, read_profile

_NAME = re.compile(r"(\d{6,})\.revision")


@dataclass(frozen=True)
class Revision:
    """One saved state. `profile` is None where its file was damaged since."""

    number: int
    path: Path
    profile: Profile | None

    @property
    def saved(self) -> str | None:
        """When, UTC, ISO 8601."""
        return self.profile.modified if self.profile is not None else None


class Revisions:
    """The histories under one folder; whoever writes holds the lock of the profiles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, identity: str, number: int, data: bytes) -> None:
        """Keep a state. AppError as `atomic_write`."""
        atomic_write(self.folder / identity / f"{number:06d}.revision", data, backup=False)

    def last(self, identity: str) -> int:
        """The highest number; 0 for none."""
        return max((number for number, _ in self.paths(identity)), default=0)

    def newest(self, identity: str) -> bytes | None:
        """The bytes of the last state; None where there is none, or it cannot be read."""
        paths = self.paths(identity)
        try:
            return paths[0][1].read_bytes() if paths else None
        except OSError:
            return None

    def all(self, identity: str) -> list[Revision]:
        """The newest first."""
        return [Revision(number, path, _read(path)) for number, path in self.paths(identity)]

    def get(self, identity: str, number: int) -> Revision | None:
        """One state; None where there is none of that number."""
        return next((Revision(n, path, _read(path)) for n, path in self.paths(identity) if n == number), None)

    def identities(self) -> list[str]:
        """Of every profile that ever was."""
        try:
            return [folder.name for folder in self.folder.iterdir() if folder.is_dir()]
        except OSError:
            return []

    def paths(self, identity: str) -> list[tuple[int, Path]]:
        """Number and file of every state, the newest first."""
        try:
            files = list((self.folder / identity).iterdir())
        except OSError:
            return []
        found = [(int(match[1]), path) for path in files if (match := _NAME.fullmatch(path.name)) is not None]
        return sorted(found, reverse=True)


def _read(path: Path) -> Profile | None:
    try:
        return read_profile(parse_toml(path.read_bytes(), path), path.stem, path)
    except (OSError, AppError):
        return None
