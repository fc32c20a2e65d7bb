"""Profiles on the desk: opened, saved, renamed and deleted off the GUI thread, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from paddock.desktop import bridge
from paddock.errors import AppError
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.store import Profile


class ProfileDesk(QObject):
    """Every act ends in the desk's `profileChanged`, or in `failed` with the profile as it was."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._desk = desk
        self._names: list[str] = []

    @property
    def names(self) -> list[str]:
        """As they were when last looked; `refresh` looks anew."""
        return list(self._names)

    def _do(self, work: Callable[[], Any], done: Callable[[Any], None], name: str) -> None:
        profiles = self._desk.workspace.profiles

        def both() -> tuple[Any, list[str]]:
            result = work()
            return result, list(profiles.names())

        def finish(found: tuple[Any, list[str]]) -> None:
            result, self._names = found
            done(result)
            self._desk.profileChanged.emit()
        bridge.run(both, finish, self._desk.failed.emit, self, name=name, in_order=True)

    def refresh(self) -> None:
        """Look for profiles that another Paddock saved."""
        self._do(lambda: None, lambda _result: None, "profile names")

    def open(self, name: str) -> None:
        """Its plan becomes the plan under edit."""
        self._do(lambda: self._desk.workspace.profiles.load(name), self._opened, "open profile")

    def _opened(self, profile: Profile) -> None:
        self._desk.profile, self._desk.saved = profile, profile.plan
        self._desk.keep_serving = profile.keep_serving
        self._desk.edit(profile.plan)

    def save(self, name: str | None = None) -> None:
        """The plan into the open profile, or under another name."""
        desk = self._desk
        chosen, plan = name or (desk.profile.name if desk.profile is not None else None), desk.plan
        if not chosen:
            desk.failed.emit(AppError(Text("A profile needs a name.")))
            return

        def saved(profile: Profile) -> None:
            desk.profile, desk.saved = profile, plan
        self._do(lambda: desk.workspace.save_profile(chosen, plan), saved, "save profile")

    def rename(self, name: str) -> None:
        """The open profile."""
        old, profiles = self._desk.profile, self._desk.workspace.profiles
        if old is None or old.name == name:
            return

        def work() -> Profile:
            renamed = replace(old, name=name)
            profiles.save(renamed)
            profiles.delete(old.name)
            return renamed
        self._do(work, self._became, "rename profile")

    def _became(self, profile: Profile | None) -> None:
        self._desk.profile = profile

    def delete(self) -> None:
        """The open profile; its plan stays on the desk."""
        desk, plan = self._desk, self._desk.plan
        if desk.profile is None:
            return
        name = desk.profile.name

        def gone(_result: object) -> None:
            desk.profile, desk.saved = None, plan
        self._do(lambda: desk.workspace.profiles.delete(name), gone, "delete profile")

    def keep_serving(self, on: bool) -> None:
        """Whether the next server may outlive the window; kept with the profile when one is open."""
        desk = self._desk
        desk.keep_serving = on
        if desk.profile is None:
            return
        changed = replace(desk.profile, keep_serving=on)

        def work() -> Profile:
            desk.workspace.profiles.save(changed)
            return changed
        self._do(work, self._became, "save profile")
