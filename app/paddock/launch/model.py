"""The plan and what comes of it, as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from paddock.text import Text


class Severity(StrEnum):
    """design rule 12."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True)
class Setting:
    """One option as set. `option` is the catalogue's id: llama.cpp's longest name without dashes ("ctx-size").

    Switch: values == () and `on`; valued: one text per value, as the command line takes it. Options that the catalogue
    does not know keep their spelling with dashes as `option` and are passed on verbatim.
    """

    option: str
    values: tuple[str, ...] = ()
    on: bool = True

    @property
    def value(self) -> str | None:
        return self.values[0] if self.values else None


@dataclass(frozen=True)
class Plan:
    """What we ask for: settings in command-line order, environment, prefix, engine. Immutable; edits give a new Plan.

    `engine`: name or path as in --engine; None = the default engine. A key is a reference (keyring:…, env:NAME,
    file:PATH), never itself.
    """

    settings: tuple[Setting, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    prefix: tuple[str, ...] = ()
    engine: str | None = None
    extra: tuple[str, ...] = ()
    """What could not be understood of a pasted line (redirections, stray words): kept and shown, never launched."""

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.settings)

    def find(self, option: str) -> Setting | None:
        """The last setting of this option (llama.cpp: the last wins), or None."""
        return next((s for s in reversed(self.settings) if s.option == option), None)

    def get(self, option: str, default: str | None = None) -> str | None:
        """The first value text of the last setting, or the default."""
        found = self.find(option)
        return found.value if found is not None and found.values else default

    def integer(self, option: str) -> int | None:
        """The value as int; None when absent or not a number (the checks say so)."""
        try:
            return int(self.get(option) or "")
        except ValueError:
            return None

    def is_on(self, option: str, default: bool = False) -> bool:
        """For switches."""
        found = self.find(option)
        return found.on if found is not None else default

    def with_(self, option: str, *values: str | int | float, on: bool = True) -> Plan:
        """This option set once: replaced where it stands, appended otherwise, later repetitions dropped."""
        new = Setting(option, tuple(str(v) for v in values), on)
        out: list[Setting] = []
        done = False
        for s in self.settings:
            if s.option != option:
                out.append(s)
            elif not done:
                out.append(new)
                done = True
        if not done:
            out.append(new)
        return replace(self, settings=tuple(out))

    def without(self, *options: str) -> Plan:
        return replace(self, settings=tuple(s for s in self.settings if s.option not in options))


@dataclass(frozen=True)
class Issue:
    """What a check found. `option` is a catalogue id or None; `fix` is applied by `apply` to the plan, if it can be."""

    id: str
    severity: Severity
    option: str | None
    text: Text
    fix: Text | None = None
    edits: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
    """What the fix's button does: (option id, values); None removes the option."""

    def apply(self, plan: Plan) -> Plan:
        for option, values in self.edits:
            plan = plan.without(option) if values is None else plan.with_(option, *values)
        return plan


@dataclass(frozen=True)
class Addition:
    """Something that Paddock adds to the command, with its reason; can be switched off by id; never in a profile."""

    id: str
    argv: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    reason: Text = field(default_factory=lambda: Text(""))


@dataclass(frozen=True)
class Command:
    """The one command: prefix + program + own flags + additions. `argv`/`env` are what is executed.

    `own` is a shell-ready POSIX text of the plan's own part (parse(own) gives the plan back). Secrets are in `env`
    only, and `shown_env` has them masked.
    """

    program: tuple[str, ...]
    own_argv: tuple[str, ...]
    additions: tuple[Addition, ...]
    prefix: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What is set on top of the inherited environment."""
    unset: tuple[str, ...] = ()
    """Inherited variables that are removed for the child."""
    shown_env: tuple[tuple[str, str], ...] = ()
    own: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        added = tuple(word for a in self.additions for word in a.argv)
        return (*self.prefix, *self.program, *self.own_argv, *added)


@dataclass(frozen=True)
class Conditions:
    """What the checks must know of the world, gathered below and passed in; None = not known."""

    model_exists: bool | None = None
    missing_paths: tuple[str, ...] = ()
    """Paths named in the plan that do not exist."""
    port_free: bool | None = None
    port_holder: str | None = None
    file_system: str | None = None
    remote_file_system: bool | None = None
    load_1min: float | None = None
    memlock_bytes: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Inherited LLAMA_*, GGML_*, CUDA_*, HIP_*, … variables."""
    config_ini: Mapping[str, str] = field(default_factory=dict)
