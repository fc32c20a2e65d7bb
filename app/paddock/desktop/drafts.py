"""The plan under edit, kept between two starts of the window."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from paddock.launch.model import Plan
from paddock.paths import DataPaths


@dataclass(frozen=True)
class Draft:
    """What was on the desk. `saved` is what changes were counted from."""

    plan: Plan
    saved: Plan | None = None
    profile: str | None = None


def _path(paths: DataPaths) -> Path:
    return paths.cache / "draft.json"


def load(paths: DataPaths) -> Draft | None:
    """The draft of the last time; None when there is none or it cannot be read (it is only a convenience)."""
    try:
        return msgspec.json.decode(_path(paths).read_bytes(), type=Draft)
    except (OSError, msgspec.DecodeError):
        return None


def save(paths: DataPaths, draft: Draft) -> None:
    """Write it in one piece; a folder that cannot be written is no reason to disturb anyone."""
    target = _path(paths)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(f".{os.getpid()}")
        part.write_bytes(msgspec.json.encode(draft))
        part.replace(target)
    except OSError:
        return
