"""Profiles: saved plans, one TOML file each with its history, and the working plan of every model."""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.store import working
from paddock.store.deleted import Deleted, DeletedProfiles
from paddock.store.files import BACKUP, atomic_write, copy_aside, parse_toml, sweep, toml_bytes
from paddock.store.locking import locked
from paddock.store.naming import file_name, free_name, free_path
from paddock.store.profile_form import SCHEMA as SCHEMA
from paddock.store.profile_form import Profile, profile_table, profile_text, read_profile
from paddock.store.revisions import Revision, Revisions
from paddock.store.secret import SecretSaver, variable_for, without_literals
from paddock.text import Text

__all__ = ["SCHEMA", "Profile", "Profiles", "file_name", "profile_text"]

_Files = dict[str, tuple[Path, Profile]]


class Profiles:
    """The folder of profiles. Reads the disk on every call, so that two Paddocks see the same; writes under a lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.revisions = Revisions(folder / ".history")
        self._deleted = DeletedProfiles(folder / ".deleted")

    # -- reading

    def _files(self) -> tuple[_Files, list[tuple[Path, AppError]]]:
        found: _Files = {}
        problems: list[tuple[Path, AppError]] = []
        for path in sorted(self.folder.glob("*.toml")):
            try:
                profile = self._load(path)
            except AppError as error:
                if not path.exists():
                    continue  # deleted or renamed by another Paddock since the folder was listed
                problems.append((path, error))
                kept = self._last_good(path, error)
                if kept is None or kept.name in found:
                    continue
                profile = kept
            if profile.name in found:
                problems.append((path, AppError(Text(
                    "“{path}” has the same name “{name}” as “{other}” and is left out.",
                    path=path, name=profile.name, other=found[profile.name][0].name))))
                continue
            found[profile.name] = path, profile
        return found, problems

    @staticmethod
    def _load(path: Path) -> Profile:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise AppError(Text("“{path}” could not be read.", path=path), why=error.strerror or str(error)) from error
        return read_profile(parse_toml(data, path), path.stem, path)

    def _last_good(self, path: Path, error: AppError) -> Profile | None:
        """The last saved state of a damaged file: of its history, else of the copy beside it. The file stays as it is
        until the next save."""
        kept = [state for identity in self.revisions.identities() for state in self.revisions.all(identity)[:1]
                if state.profile is not None and file_name(state.profile.name) == path.name]
        newest = max((state.profile for state in kept if state.profile is not None),
                     key=lambda profile: profile.modified or "", default=None)
        if newest is None:
            try:
                newest = self._load(path.with_name(path.name + BACKUP))
            except AppError:
                return None
        return replace(newest, notices=(Text(
            "{what} The state saved {when} is used; the damaged file is set aside at the next save.", what=error,
            when=newest.modified or "?"),))

    def names(self) -> list[str]:
        """Names of the profiles that can be read, in alphabetical order."""
        return sorted(self._files()[0], key=str.casefold)

    def all(self) -> list[Profile]:
        """Every profile that can be read, in the order of their names."""
        return sorted((profile for _, profile in self._files()[0].values()), key=lambda p: p.name.casefold())

    @property
    def problems(self) -> list[tuple[Path, AppError]]:
        """Files in the folder that are no usable profiles, with the reason."""
        return self._files()[1]

    def load(self, name: str) -> Profile:
        """AppError: no such profile, or its file is damaged and no good state is kept, or from a newer Paddock."""
        found, problems = self._files()
        if name not in found:
            # As it was typed on a system that takes accented letters apart.
            name = next((n for n in found if n == unicodedata.normalize("NFC", name.strip())), name)
        if name in found:
            return found[name][1]
        for path, error in problems:
            if path.name == file_name(name) or path.stem == name:
                raise error
        raise AppError(Text("There is no profile “{name}”.", name=name),
                       hint=Text("`paddock profiles list` shows them all."))

    # -- writing

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with locked(self.folder) as held:
            if held:
                sweep(self.folder, "*.toml")
            yield

    def save(self, profile: Profile, *, secret_saver: SecretSaver | None = None, replace_existing: bool = True,
             expected: int | None = None) -> Profile:
        """Write it, atomically, and keep it in its history; returns what was written (stamps and revision set, literal
        keys replaced by references). What is the same as on disk is not written again.

        `expected`: the revision that was read; where the disk has another by now, a notice says so (nothing is lost:
        it is in the history). AppError: an empty name, a name in use (without `replace_existing`), a literal key
        without a `secret_saver`.
        """
        if not profile.name.strip():
            raise AppError(Text("A profile needs a name."))
        self._refuse_taken(profile.name, replace_existing, self._files()[0])
        plan = without_literals(profile.plan, secret_saver, profile.name)
        with self._writing():
            found, _ = self._files()
            self._refuse_taken(profile.name, replace_existing, found)
            return self._save(replace(profile, plan=plan), found, expected)

    @staticmethod
    def _refuse_taken(name: str, replace_existing: bool, found: _Files) -> None:
        if name in found and not replace_existing:
            raise AppError(Text("There is a profile “{name}” already.", name=name))

    def _save(self, profile: Profile, found: _Files, expected: int | None = None) -> Profile:
        path, before = found.get(profile.name, (None, None))
        damaged = self._damaged(profile.name) if path is None or (before and before.notices) else None
        identity = self._identity(profile, before, found)
        profile = replace(profile, id=identity, notices=())
        if before is not None and damaged is None and not before.notices and _same(profile, before):
            return before
        if path is not None and damaged is None:
            self._keep_foreign(identity, path)
        number = max(self.revisions.last(identity), before.revision if before is not None else 0) + 1
        now = datetime.now(UTC).isoformat(timespec="seconds")
        saved = replace(profile, created=profile.created or (before.created if before else None) or now, modified=now,
                        revision=number)
        data = toml_bytes(profile_table(saved))
        # The history first: whatever happens to the file afterwards, the state is there.
        self.revisions.add(identity, number, data)
        if damaged is not None:
            copy_aside(damaged)
        atomic_write(path or damaged or free_path(self.folder, profile.name), data)
        return replace(saved, notices=_overtaken(before, expected))

    def _damaged(self, name: str) -> Path | None:
        """The file of that name, if it cannot be read."""
        return next((path for path, _ in self.problems if path.name == file_name(name) and not self._readable(path)),
                    None)

    def _readable(self, path: Path) -> bool:
        try:
            self._load(path)
        except AppError:
            return False
        return True

    @staticmethod
    def _identity(profile: Profile, before: Profile | None, found: _Files) -> str:
        """Its own id, unless another file (a copy made by hand, the profile it was made from) has that."""
        others = {p.id for name, (_, p) in found.items() if name != profile.name}
        for one in (before.id if before is not None else None, profile.id):
            if one is not None and one not in others:
                return one
        return uuid.uuid4().hex

    def _keep_foreign(self, identity: str, path: Path) -> None:
        """A state that was not saved by us (edited by hand, or by an older Paddock) goes into the history, too."""
        try:
            data = path.read_bytes()
        except OSError:
            return
        if data != self.revisions.newest(identity):
            self.revisions.add(identity, self.revisions.last(identity) + 1, data)

    def delete(self, name: str) -> None:
        """Put it aside; `undelete` brings it back. AppError when there is none of that name."""
        with self._writing():
            found, _ = self._files()
            if name not in found:
                raise AppError(Text("There is no profile “{name}”.", name=name))
            self._deleted.take(found[name][0])

    def deleted(self) -> list[Deleted]:
        """What can be brought back, the last deleted first."""
        return self._deleted.all()

    def undelete(self, name: str) -> Profile:
        """Bring back the last that was deleted under that name; a name in use gets a number. AppError: none was."""
        with self._writing():
            gone = next((d for d in self.deleted() if d.profile.name == name), None)
            if gone is None:
                raise AppError(Text("No deleted profile is called “{name}”.", name=name))
            found, _ = self._files()
            saved = self._save(replace(gone.profile, name=free_name(name, found)), found)
            gone.path.unlink(missing_ok=True)
            return saved

    def rename(self, name: str, new: str) -> Profile:
        """With its history. AppError when there is none of that name, one of the new name, or no new name."""
        if not new.strip():
            raise AppError(Text("A profile needs a name."))
        with self._writing():
            found, _ = self._files()
            profile = self.load(name)
            if new == name:
                return profile
            self._refuse_taken(new, False, found)
            path = found.pop(name)[0]
            if profile.id is not None:
                self._keep_foreign(profile.id, path)
            saved = self._save(replace(profile, name=new), found)
            try:
                path.unlink()
                path.with_name(path.name + BACKUP).unlink(missing_ok=True)
            except OSError as error:
                raise AppError(Text("“{path}” could not be deleted.", path=path),
                               why=error.strerror or str(error)) from error
            return saved

    def duplicate(self, name: str, new: str | None = None) -> Profile:
        """A copy under a name that is free, with a history of its own. AppError when there is none of that name."""
        with self._writing():
            found, _ = self._files()
            profile = self.load(name)
            wanted = new or str(Text("{name} copy", name=name))
            copy = replace(profile, name=free_name(wanted, found), id=None, revision=0, created=None)
            return self._save(copy, found)

    # -- history

    def history(self, name: str) -> list[Revision]:
        """Its saved states, the newest (what is on disk now) first. AppError when there is none of that name."""
        profile = self.load(name)
        return self.revisions.all(profile.id) if profile.id is not None else []

    def revert(self, name: str, number: int) -> Profile:
        """Save an earlier state anew; the name stays. AppError: no such profile or state, or a damaged one."""
        with self._writing():
            found, _ = self._files()
            profile = self.load(name)
            state = self.revisions.get(profile.id, number) if profile.id is not None else None
            if state is None or state.profile is None:
                raise AppError(Text("The profile “{name}” has no saved state {number}.", name=name, number=number),
                               hint=Text("`paddock profiles history NAME` lists them."))
            return self._save(replace(state.profile, name=name, id=profile.id), found)

    # -- in and out

    def export(self, name: str) -> str:
        """The profile as TOML, with references to keys and never a key: one that was written into the file by hand is
        replaced by the variable to set. AppError where a key stands where no reference can."""
        profile = self.load(name)
        plan = without_literals(profile.plan, variable_for, profile.name)
        return profile_text(replace(profile, plan=plan, id=None, revision=0))

    def import_text(self, text: str, name: str | None = None, *, secret_saver: SecretSaver | None = None,
                    where: str = "") -> Profile:
        """Save the profile in `text` (of `export`), under another name if given; a name in use gets a number.

        `where`: what the text came from, for the messages.
        """
        where = where or name or "profile"
        table = parse_toml(text.encode("utf-8", "surrogateescape"), where)
        profile = read_profile(table, name or Path(where).stem, where)
        plan = without_literals(profile.plan, secret_saver, name or profile.name)
        with self._writing():
            found, _ = self._files()
            unique = free_name(name or profile.name, found)
            saved = self._save(replace(profile, name=unique, plan=plan, id=None, revision=0), found)
            return replace(saved, notices=profile.notices)

    # -- the plan that is being worked on, per model

    def save_working(self, model_identity: str | None, plan: Plan, *, successful: bool = False) -> None:
        """See `working.save`."""
        working.save(self.folder / ".working", model_identity, plan, successful)

    def load_working(self, model_identity: str | None, *, successful: bool = False) -> Plan | None:
        """See `working.load`."""
        return working.load(self.folder / ".working", model_identity, successful)


def _same(profile: Profile, before: Profile) -> bool:
    """Whether saving it would change nothing but the stamps."""
    return replace(profile, created=before.created, modified=before.modified, revision=before.revision) == before


def _overtaken(before: Profile | None, expected: int | None) -> tuple[Text, ...]:
    if before is None or expected is None or before.revision == expected:
        return ()
    return (Text("Another Paddock had saved “{name}” meanwhile ({when}). That state is number {number} of its history.",
                 name=before.name, when=before.modified or "?", number=before.revision),)
