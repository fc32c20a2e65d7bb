"""The plan under edit, kept between two starts of the window."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.paths import DataPaths
from paddock.store.files import atomic_write
from paddock.store.secret import drop_literals
from paddock.work.saving import keep_unfinished

if TYPE_CHECKING:
    from paddock.work import Workspace


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
    """Write it in one piece, flushed to the disk, without literal keys; a folder that cannot be written is no reason to
    disturb anyone."""
    harmless = replace(draft, plan=drop_literals(draft.plan),
                       saved=drop_literals(draft.saved) if draft.saved is not None else None)
    try:
        atomic_write(_path(paths), msgspec.json.encode(harmless), backup=False)
    except (AppError, UnicodeEncodeError):
        return


def keep(workspace: Workspace, draft: Draft, edited: bool) -> None:
    """Write the draft, and where something was `edited` what it is for its model, to be found when that is opened
    again. Off the GUI thread."""
    save(workspace.paths, draft)
    if edited:
        with contextlib.suppress(AppError):
            keep_unfinished(workspace, draft.plan)
