"""What was worked on last? The plan under edit, kept between two starts of the window."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, QTimer, Slot

from paddock.desktop import bridge
from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.paths import DataPaths
from paddock.store.files import atomic_write
from paddock.store.secret import drop_literals
from paddock.work.saving import keep_unfinished

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.work import Workspace
    from paddock.work.opening import Opened

_AUTOSAVE_MS = 1500


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


class DraftDesk(QObject):
    """Keeps what is on a desk, off the GUI thread: a while after each edit, before a launch and at the end."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._desk = desk
        self._soon = QTimer(self)
        self._soon.setInterval(_AUTOSAVE_MS)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self.keep)

    def keep_soon(self) -> None:
        """Once nothing has been edited for a moment."""
        self._soon.start()

    @Slot()
    def keep(self) -> None:
        """Now; an empty plan is not worth it."""
        self._soon.stop()
        desk = self._desk
        if desk.plan.settings or desk.plan.environment:
            name = desk.profile.name if desk.profile is not None else None
            draft, edited = Draft(desk.plan, desk.saved, name), bool(desk.changes())
            bridge.run(lambda: keep(desk.workspace, draft, edited), None, None, self, name="draft", in_order=True)

    def bring_back(self) -> None:
        """Put the draft of the last time on the desk, unless something is there by then; profiles are looked for."""
        bridge.run(self._read, self._put, self._desk.failed.emit, self, name="draft", in_order=True)

    def _read(self) -> tuple[Draft | None, Opened | None]:
        draft = load(self._desk.workspace.paths)
        if draft is None or draft.profile is None:
            return draft, None
        try:
            return draft, self._desk.workspace.open_profile(draft.profile)
        except AppError:
            return draft, None

    def _put(self, found: tuple[Draft | None, Opened | None]) -> None:
        draft, opened = found
        desk = self._desk
        if draft is not None and not desk.plan.settings:
            desk.put_back(draft.plan, opened.saved if opened is not None else draft.saved,
                          opened.profile if opened is not None else None)
        desk.profiles.refresh()
