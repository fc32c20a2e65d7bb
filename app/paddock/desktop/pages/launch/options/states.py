"""How each row stands: set, changed, locked, in error; and which rows a search and a filter leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from paddock.desktop.pages.launch.options.editing import Value, value_of
from paddock.desktop.pages.launch.options.entries import ENVIRONMENT, UNKNOWN, Entry, device_kinds
from paddock.engine.model import Engine
from paddock.gguf.model import ModelFile
from paddock.hardware.model import Machine
from paddock.launch.catalogue import Kind
from paddock.launch.locking import locked
from paddock.launch.model import Conditions, Issue, Plan, Severity
from paddock.launch.variables import without_use

FILTERS = ("all", "set", "changed", "locked")
_RANK = (Severity.ERROR, Severity.WARNING, Severity.HINT)


@dataclass(frozen=True)
class RowState:
    """Everything that a row shows besides its entry."""

    value: Value = ()
    saved: Value = ()
    changed: bool = False
    """It differs from the saved plan."""
    lock: str = ""
    """Why it has no effect here; "" when it has."""
    issue: Issue | None = None
    kept: bool = False
    """This engine does not know it; it is kept word for word."""

    @property
    def is_set(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True)
class World:
    """What the states are worked out of."""

    plan: Plan
    saved: Plan | None
    model: ModelFile | None
    engine: Engine | None
    machine: Machine | None
    issues: Sequence[Issue] = ()
    conditions: Conditions = field(default_factory=Conditions)
    """Inherited variables, and whether those that set options stay."""


def states(entries: Sequence[Entry], world: World) -> dict[str, RowState]:
    """The state of each entry, by key."""
    reasons = locked(world.plan, world.model, world.engine, world.machine, world.conditions)
    worst = _worst(world.issues)
    kinds = device_kinds(world.engine)
    out = {}
    for entry in entries:
        value, saved = value_of(entry, world.plan), value_of(entry, world.saved)
        lock = ""
        if not value and entry.key in reasons:
            lock = str(reasons[entry.key])
        elif not value and entry.variable is not None and entry.inherited is None:
            useless = without_use(entry.variable, kinds)
            lock = str(useless) if useless is not None else ""
        out[entry.key] = RowState(value, saved, world.saved is not None and value != saved, lock,
                                  worst.get(entry.key), entry.group == UNKNOWN)
    return out


def _worst(issues: Sequence[Issue]) -> dict[str, Issue]:
    out: dict[str, Issue] = {}
    for issue in issues:
        if issue.option is None:
            continue
        before = out.get(issue.option)
        if before is None or _RANK.index(issue.severity) < _RANK.index(before.severity):
            out[issue.option] = issue
    return out


def matches(entry: Entry, terms: Sequence[str]) -> bool:
    """Whether every word is found. `-c` with one dash finds flags that begin so, everything else any part of a text."""
    return all(_match(entry, term) for term in terms)


def _match(entry: Entry, term: str) -> bool:
    if term.startswith("-") and not term.startswith("--"):
        names = entry.names
        if entry.option is not None:
            names = (*names, *entry.option.names, *entry.option.negations)
        return any(name.lower().startswith(term) for name in names)
    return term in entry.haystack


def found_in_help(entry: Entry, terms: Sequence[str]) -> str:
    """The sentence in which a word was found that neither the label nor a flag has; "" where they have all of them."""
    visible = f"{entry.label}\n{entry.flags}".lower()
    missing = next((term for term in terms if term not in visible and not term.startswith("-")), None)
    if missing is None:
        return ""
    for own in (entry.help, entry.advice):
        if missing in own.lower():
            return own
    theirs = " ".join(entry.theirs.help.split()) if entry.theirs is not None else ""
    at = theirs.lower().find(missing)
    if at < 0:
        return ""
    start = theirs.rfind(" ", 0, max(0, at - 24)) + 1
    end = theirs.find(" ", at + len(missing) + 24)
    return ("… " if start else "") + theirs[start:end if end > 0 else None] + (" …" if end > 0 else "")


def passes(state: RowState, choice: str) -> bool:
    """Whether the filter leaves the row."""
    if choice == "set":
        return state.is_set
    if choice == "changed":
        return state.changed
    return bool(state.lock) or state.kept if choice == "locked" else True


def shown_default(entry: Entry) -> str:
    """The default as a value: of the engine's help for what is new, of the catalogue for the rest."""
    if entry.group == ENVIRONMENT:
        return entry.default or ""
    return (entry.default or "off") if entry.kind is Kind.FLAG else (entry.default or "")
