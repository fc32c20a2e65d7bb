
"""Profiles on the desk: opened, saved, changed and brought back off the GUI thread, one act after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from paddock.desktop import bridge
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.launch.comparing import changes
from paddock.launch.layers import Layer, keys, layered, origins, part
from paddock.launch.model import Plan
from paddock.store.naming import free_name
from paddock.store.revisions import Revision
from paddock.text import Text
from paddock.work.saving import clean_name, unfinished

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.store import Profile
    from paddock.work.opening import Opened


_DETAILS = ("notes", "tags", "colour", "keep_serving", "restart_limit", "left_out", "other", "created", "id")


@dataclass(frozen=True)
class Told:
    """A message for the page: what, why, and one act (its text and what it does)."""

    tone: str
    what: str
    why: str = ""
    act: str = ""
    do: Callable[[], Any] | None = None


class ProfileDesk(QObject):
    """Every act ends in the desk's `profileChanged`, or in `failed` with the profile as it was."""

    told = Signal(object)
    """Told: something was done that a person should know of, or may want to undo"""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._desk = desk
        self._all: list[Profile] = []
        self.deleted: list[str] = []
        """Names that can be brought back, the last deleted first."""
        self.layers: tuple[Layer, ...] = ()
        """The defaults that hold for the model on the desk, the farthest first."""
        self._architecture: str | None = None
        desk.previewChanged.connect(self._model_changed)

    @property
    def names(self) -> list[str]:
        """As they were when last looked; `refresh` looks anew."""
        return [profile.name for profile in self._all]

    @property
    def all(self) -> list[Profile]:
        """The profiles themselves, likewise."""
        return list(self._all)

    @property
    def architecture(self) -> str | None:
        """Of the model on the desk, as far as it is known."""
        return self._architecture

    def origins(self) -> Mapping[str, Layer]:
        """Option, variable, "prefix" or "engine" -> the defaults that the plan on the desk takes it from."""
        profile = self._desk.profile
        return origins(self.layers, self._desk.plan, profile.plan if profile is not None else None)

    def _do(self, work: Callable[[], Any], done: Callable[[Any], None], name: str, quiet: bool = False) -> None:
        """`quiet`: nothing is said where nothing is otherwise than it was."""
        workspace, architecture = self._desk.workspace, self._architecture

        def both() -> tuple[Any, Any, Any, Any]:
            result = work()
            gone = list(dict.fromkeys(d.profile.name for d in workspace.profiles.deleted()))
            return result, workspace.profiles.all(), gone, workspace.defaults.layers(architecture)[0]

        def finish(found: tuple[Any, Any, Any, Any]) -> None:
            same = found[1:] == (self._all, self.deleted, self.layers)
            result, self._all, self.deleted, self.layers = found
            done(result)
            if not (quiet and same):
                self._desk.profileChanged.emit()
        bridge.run(both, finish, self._desk.failed.emit, self, name=name, in_order=True)

    def refresh(self) -> None:
        """Look for profiles that another Paddock saved."""
        self._do(lambda: None, lambda _result: None, "profile names")

    def look_again(self) -> None:
        """The same, when that was nobody's wish: only what is new is told."""
        self._do(lambda: None, lambda _result: None, "profile names", quiet=True)

    @Slot(object)
    def _model_changed(self, preview: Any) -> None:
        """Another architecture has other defaults."""
        architecture = preview.model.architecture if preview.model is not None else None
        if architecture != self._architecture:
            self._architecture = architecture
            self.look_again()

    # -- opening and saving

    def open(self, name: str) -> None:
        """Its plan becomes the plan under edit; what had to be done for that is told."""
        self._do(lambda: self._open(name), self.take, "open profile")

    def _open(self, name: str) -> Opened:
        """In a worker. The models that were found already need not be looked for again."""
        entries = self._desk.entries
        known = None if entries is None else [Path(e.path) for e in entries if e.model is not None]
        return self._desk.workspace.open_profile(name, known)

    def take(self, opened: Opened) -> None:
        """A profile that was opened: changes are counted from what it says."""
        desk = self._desk
        desk.profile, desk.saved, self.layers = opened.profile, opened.saved, opened.layers
        desk.keep_serving = opened.profile.keep_serving
        desk.edit(opened.plan)
        self._tell(opened.notices)

    def _tell(self, notices: tuple[Text, ...]) -> None:
        if notices:
            self.told.emit(Told("warn", str(notices[0]), " ".join(str(n) for n in notices[1:])))

    def save(self, name: str | None = None) -> None:
        """The plan into the open profile, or under another name."""
        desk = self._desk
        old = desk.profile
        chosen, plan = name or (old.name if old is not None else None), desk.plan
        if not chosen:
            desk.failed.emit(AppError(Text("A profile needs a name.")))
            return
        expected = old.revision if old is not None and old.name == chosen else None

        def saved(profile: Profile) -> None:
            desk.profile, desk.saved = profile, plan
            self._tell(profile.notices)

        def work() -> Profile:
            details = {}
            if old is not None and expected is not None and chosen not in desk.workspace.profiles.names():
                # Deleted or renamed by another Paddock meanwhile: it comes back with what belongs to it.
                details = {key: getattr(old, key) for key in _DETAILS}
            return desk.workspace.save_profile(chosen, plan, expected, **details)
        self._do(work, saved, "save profile")

    def describe(self, **details: Any) -> None:
        """Notes, tags, colour and the like of the open profile; the plan is not touched."""
        old, profiles = self._desk.profile, self._desk.workspace.profiles
        if old is None:
            return
        name, expected = old.name, old.revision

        def work() -> Profile:
            # From the disk: the plan that another Paddock saved meanwhile must not be turned back.
            return profiles.save(replace(profiles.load(name), **details), expected=expected)

        def done(profile: Profile) -> None:
            self._desk.keep_serving = profile.keep_serving
            self._became(profile)
            self._tell(profile.notices)
        self._do(work, done, "save profile")

    def rename(self, name: str) -> None:
        """The open profile, with its history."""
        old, profiles = self._desk.profile, self._desk.workspace.profiles
        if old is None or old.name == name:
            return

        def work() -> Profile:
            return profiles.rename(old.name, clean_name(name))
        self._do(work, self._became, "rename profile")

    def duplicate(self) -> None:
        """A copy of the open profile as it is saved, which is then open; what was changed on the desk stays."""
        old, desk = self._desk.profile, self._desk
        if old is None:
            return
        name = free_name(tr("{name} copy", name=old.name), self.names)
        self._do(lambda: desk.workspace.profiles.duplicate(old.name, name), self._became, "duplicate profile")

    def _became(self, profile: Profile | None) -> None:
        self._desk.profile = profile

    # -- taking back

    def delete(self) -> None:
        """The open profile; its plan stays on the desk, and it can be brought back."""
        desk, plan = self._desk, self._desk.plan
        if desk.profile is None:
            return
        name = desk.profile.name

        def gone(_result: object) -> None:
            desk.profile, desk.saved = None, plan
            self.told.emit(Told("accent", tr("The profile “{name}” was deleted. Its plan stays open.", name=name), "",
                                tr("Undo"), lambda: self.undelete(name)))
        self._do(lambda: desk.workspace.profiles.delete(name), gone, "delete profile")

    def undelete(self, name: str) -> None:
        """Bring a deleted profile back, and open it if nothing else is."""
        desk = self._desk

        def work() -> Opened | None:
            back = desk.workspace.profiles.undelete(name)
            return self._open(back.name) if desk.profile is None else None

        def done(opened: Opened | None) -> None:
            if opened is not None:
                desk.profile, desk.saved, self.layers = opened.profile, opened.saved, opened.layers
        self._do(work, done, "bring a profile back")

    def history(self, done: Callable[[list[Revision]], object], owner: QObject) -> None:
        """The saved states of the open profile, to `done`."""
        profile, desk = self._desk.profile, self._desk
        if profile is not None:
            name = profile.name
            bridge.run(lambda: desk.workspace.profiles.history(name), done, desk.failed.emit, owner, name="history",
                       in_order=True)

    def revert(self, number: int) -> None:
        """An earlier state of the open profile becomes the saved one, and the plan on the desk."""
        desk, old = self._desk, self._desk.profile
        if old is None:
            return

        def work() -> Opened:
            desk.workspace.profiles.revert(old.name, number)
            return self._open(old.name)
        self._do(work, self.take, "go back")

    def finished(self, profile: Profile) -> Plan:
        """Its plan with the defaults of the model on the desk, to be compared."""
        return layered(self.layers, profile.plan, profile.left_out)

    def look_for_unfinished(self, plan: Plan) -> None:
        """After a model was opened: what was set for it the last time and never served is offered, never taken."""
        desk = self._desk

        def found(kept: Plan | None) -> None:
            if kept is None or desk.plan != plan:
                return
            count = len(changes(plan, kept))
            self.told.emit(Told("accent", tr(
                "You had set {count} option otherwise for this model, without a launch that served.",
                plural="You had set {count} options otherwise for this model, without a launch that served.",
                count=count), "", tr("Bring them back"), lambda: desk.edit(kept)))
        bridge.run(lambda: unfinished(desk.workspace, plan), found, None, self, name="unfinished", in_order=True)

    # -- in and out

    def import_file(self, path: str) -> None:
        """Save what a file holds, and open the first of it."""
        desk = self._desk

        def work() -> tuple[Opened, list[str]]:
            text = _read(Path(path))
            saved = desk.workspace.import_profiles(text, None, Path(path).name)
            return self._open(saved[0].name), [p.name for p in saved]

        def done(found: tuple[Opened, list[str]]) -> None:
            opened, names = found
            self.take(opened)
            self.told.emit(Told("ok", tr("Saved as {names}.", names=", ".join(f"“{n}”" for n in names)),
                                " ".join(str(n) for n in opened.notices)))
        self._do(work, done, "import profile")

    def export_file(self, path: str) -> None:
        """Write the open profile, as it is saved, to a file of its own; no key is in it."""
        desk = self._desk
        if desk.profile is None:
            return
        name = desk.profile.name

        def work() -> None:
            from paddock.store.files import atomic_write

            text = desk.workspace.profiles.export(name)
            atomic_write(Path(path), text.encode("utf-8", "surrogateescape"), backup=False)

        def done(_result: object) -> None:
            self.told.emit(Told("ok", tr("Written to {path}.", path=path)))
        self._do(work, done, "export profile")

    # -- defaults

    def move(self, targets: Mapping[str, str]) -> None:
        """Where values of the plan belong from now on: key -> "all", "architecture" or "own".

        What goes to the defaults is taken out of the open profile; what becomes its own stays in the defaults, for
        other profiles.
        """
        desk, plan, architecture = self._desk, self._desk.plan, self._architecture
        profile = desk.profile

        def work() -> tuple[Profile | None, dict[str | None, Plan]]:
            defaults = desk.workspace.defaults
            was = {name: defaults.load(name) for name in dict.fromkeys((None, architecture))}
            for level, name in (("all", None), ("architecture", architecture)):
                chosen = part(plan, [key for key, target in targets.items() if target == level])
                if keys(chosen) and (level == "all" or name is not None):
                    rest = defaults.load(name)
                    kept = part(rest, [key for key in keys(rest) if key not in keys(chosen)])
                    defaults.save(replace(layered((Layer(kept),), replace(chosen, extra=())), extra=()), name)
            return (self._with_own(profile, plan, targets) if profile is not None else None), was

        def done(found: tuple[Profile | None, dict[str | None, Plan]]) -> None:
            saved, was = found
            if saved is not None:
                desk.profile = saved
            self.told.emit(Told("ok", tr("Saved where it belongs: {count} value.", plural="Saved where they belong: "
                                         "{count} values.", count=len(targets)), "", tr("Undo"),
                                lambda: self._take_back(was, profile)))
        self._do(work, done, "save defaults")

    def _take_back(self, was: Mapping[str | None, Plan], profile: Profile | None) -> None:
        """The defaults, and the open profile, as they were before values were moved."""
        desk = self._desk

        def work() -> Profile | None:
            for name, plan in was.items():
                desk.workspace.defaults.save(plan, name)
            if profile is None:
                return None
            profiles = desk.workspace.profiles
            return profiles.save(replace(profiles.load(profile.name), plan=profile.plan, left_out=profile.left_out))

        def done(saved: Profile | None) -> None:
            if saved is not None:
                desk.profile = saved
        self._do(work, done, "take defaults back")

    def _with_own(self, profile: Profile, plan: Plan, targets: Mapping[str, str]) -> Profile:
        """The profile with these keys as its own, or without them."""
        profiles = self._desk.workspace.profiles
        saved = profiles.load(profile.name)
        gone = {key for key, target in targets.items() if target != "own"}
        own = part(saved.plan, [key for key in keys(saved.plan) if key not in gone])
        more = part(plan, [key for key, target in targets.items() if target == "own"])
        return profiles.save(replace(saved, plan=layered((Layer(replace(more, extra=())),), own)))

    def forget_default(self, key: str, architecture: str | None) -> None:
        """Take one out of the defaults; the plan on the desk keeps its value."""
        desk = self._desk

        def work() -> None:
            plan = desk.workspace.defaults.load(architecture)
            desk.workspace.defaults.save(part(plan, [k for k in keys(plan) if k != key]), architecture)
        self._do(work, lambda _result: None, "save defaults")

    # -- servers

    def keep_serving(self, on: bool) -> None:
        """Whether the next server may outlive the window; kept with the profile when one is open."""
        self._desk.keep_serving = on
        self.describe(keep_serving=on)


def _read(path: Path) -> str:
    from paddock.store.files import decoded

    try:
        return decoded(path.read_bytes())
    except OSError as error:
        raise AppError(Text("{file} cannot be read.", file=path), why=error.strerror or str(error)) from error
