"""Defaults below the profiles: one file for all models, one for each architecture, with every state they had."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from paddock.errors import AppError
from paddock.launch.layers import NO_DEFAULTS, Layer, keys
from paddock.launch.model import Plan
from paddock.store.files import BACKUP, atomic_write, parse_toml, sweep, toml_bytes
from paddock.store.locking import locked
from paddock.store.naming import file_name
from paddock.store.planform import plan_table, read_plan
from paddock.store.profile_form import SCHEMA, plain_first
from paddock.store.revisions import Revisions
from paddock.store.secret import without_literals
from paddock.text import Text


class Defaults:
    """The folder of the layers. Reads the disk on every call, so that two Paddocks see the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._revisions = Revisions(folder / ".history")

    def _path(self, architecture: str | None) -> Path:
        return self.folder / ("all.toml" if architecture is None else f"architecture-{file_name(architecture)}")

    def load(self, architecture: str | None = None) -> Plan:
        """The defaults for all models (None) or an architecture; an empty plan where none are set.

        AppError where the file is damaged and there is no good copy beside it, or it is of a newer Paddock.
        """
        path = self._path(architecture)
        try:
            return _read(path)
        except FileNotFoundError:
            return Plan()
        except OSError as error:
            raise AppError(Text("“{path}” could not be read.", path=path), why=error.strerror or str(error)) from error
        except AppError:
            try:
                return _read(path.with_name(path.name + BACKUP))
            except (OSError, AppError):
                pass
            raise

    def layers(self, architecture: str | None) -> tuple[tuple[Layer, ...], tuple[Text, ...]]:
        """The layers that hold for a model of this architecture, the farthest first, and what could not be read."""
        found: list[Layer] = []
        notices: list[Text] = []
        for name in (None, architecture) if architecture else (None,):
            try:
                plan = self.load(name)
            except AppError as error:
                notices.append(Text("{what} These defaults are left out.", what=error))
                continue
            if keys(plan):
                found.append(Layer(plan, name))
        return tuple(found), tuple(notices)

    def architectures(self) -> list[str]:
        """Those that have defaults of their own, in alphabetical order."""
        names = []
        for path in self.folder.glob("architecture-*.toml"):
            try:
                name = parse_toml(path.read_bytes(), path).get("architecture")
            except (OSError, AppError):
                continue
            if isinstance(name, str):
                names.append(name)
        return sorted(names)

    def save(self, plan: Plan, architecture: str | None = None) -> None:
        """Write the defaults for all models (None) or an architecture; an empty plan takes them away.

        AppError: an option that says which model it is, a literal key, a folder that cannot be written.
        """
        named = next((s.option for s in plan.settings if s.option in NO_DEFAULTS), None)
        if named is not None:
            raise AppError(Text("“{option}” says which model it is, so it cannot be a default.", option=named))
        if plan.extra:
            raise AppError(Text("Not understood: {words}", words=" ".join(plan.extra)))
        plan = without_literals(plan, None, "defaults")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        table = {"schema_version": SCHEMA, **({"architecture": architecture} if architecture else {}),
                 "modified": now, **plan_table(plan)}
        data, identity = toml_bytes(plain_first(table)), _identity(architecture)
        with locked(self.folder) as held:
            if held:
                sweep(self.folder, "*.toml")
            self._revisions.add(identity, self._revisions.last(identity) + 1, data)
            atomic_write(self._path(architecture), data)

    def history(self, architecture: str | None = None) -> list[tuple[int, str, Plan]]:
        """Every saved state that can be read, the newest first: its number, when (UTC, ISO 8601), the defaults."""
        return [(number, stamp, plan) for number, path in self._revisions.paths(_identity(architecture))
                for stamp, plan in _state(path)]

    def restore(self, number: int, architecture: str | None = None) -> None:
        """Save an earlier state anew. AppError where there is none of that number."""
        found = next((plan for n, _, plan in self.history(architecture) if n == number), None)
        if found is None:
            raise AppError(Text("The defaults have no saved state {number}.", number=number),
                           hint=Text("`paddock profiles defaults history` lists them."))
        self.save(found, architecture)


def _identity(architecture: str | None) -> str:
    """The folder of a history."""
    return "all" if architecture is None else file_name(architecture).removesuffix(".toml") + ".architecture"


def _state(path: Path) -> list[tuple[str, Plan]]:
    try:
        return [(str(parse_toml(path.read_bytes(), path).get("modified", "")), _read(path))]
    except (OSError, AppError):
        return []


def _read(path: Path) -> Plan:
    table = parse_toml(path.read_bytes(), path)
    version = table.get("schema_version", SCHEMA)
    if isinstance(version, int) and version > SCHEMA:
        raise AppError(Text("“{path}” was saved by a newer Paddock (form {theirs}, this one knows {ours}).", path=path,
                            theirs=version, ours=SCHEMA), hint=Text("Update Paddock to use it."))
    return read_plan(table)
