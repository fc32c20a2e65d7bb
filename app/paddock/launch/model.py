"""The plan and what comes of it, as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from paddock.gguf.model import ModelFile
from paddock.launch.catalogue import CATALOGUE
from paddock.text import Text

PREFIX, VARIABLE = "prefix", "env:"
"""In an issue's edits: the words before the engine, and what stands before a variable's name."""


def whole_number(text: str | None) -> int | None:
    """As llama.cpp takes it: digits of other scripts and "1_000" are none, though Python reads them."""
    try:
        return int(text) if text and text.isascii() and "_" not in text else None
    except ValueError:
        return None


class Severity(StrEnum):
    """design rule 12."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True)
class Setting:
    """One option as set. `option` is the catalogue's id: llama.cpp's first long name without dashes ("ctx-size").

    Any other name of it ("n-gpu-layers", "-ngl") becomes that id here, and is accepted by the look-ups of `Plan`.
    Switch: values == () and `on`; valued: one text per value, as the command line takes it. Options that the catalogue
    does not know keep their spelling with dashes as `option` and are passed on verbatim.
    """

    option: str
    values: tuple[str, ...] = ()
    on: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "option", CATALOGUE.canonical(self.option))

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
        name = CATALOGUE.canonical(option)
        return next((s for s in reversed(self.settings) if s.option == name), None)

    def all(self, option: str) -> tuple[Setting, ...]:
        """Every setting of this option, in order: for those that add up (-ot, --lora)."""
        name = CATALOGUE.canonical(option)
        return tuple(s for s in self.settings if s.option == name)

    def get(self, option: str, default: str | None = None) -> str | None:
        """The first value text of the last setting, or the default."""
        found = self.find(option)
        return found.value if found is not None and found.values else default

    def integer(self, option: str) -> int | None:
        """The value as int; None when absent or not a number (the checks say so)."""
        return whole_number(self.get(option))

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
            if s.option != new.option:
                out.append(s)
            elif not done:
                out.append(new)
                done = True
        if not done:
            out.append(new)
        return replace(self, settings=tuple(out))

    def without(self, *options: str) -> Plan:
        names = {CATALOGUE.canonical(option) for option in options}
        return replace(self, settings=tuple(s for s in self.settings if s.option not in names))

    def with_variable(self, name: str, value: str | None) -> Plan:
        """This variable set once, at the end; None takes it out."""
        rest = tuple(pair for pair in self.environment if pair[0] != name)
        return replace(self, environment=rest if value is None else (*rest, (name, value)))

    def variable(self, name: str) -> str | None:
        """The value of an environment variable that the plan sets (the last one counts), or None."""
        return next((value for key, value in reversed(self.environment) if key == name), None)


@dataclass(frozen=True)
class Issue:
    """What a check found. `option` is a catalogue id or None; `fix` is applied by `apply` to the plan, if it can be."""

    id: str
    severity: Severity
    option: str | None
    text: Text
    fix: Text | None = None
    edits: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
    """What the fix's button does, in this order: (option id, values). None removes the option; for a switch, ("on",)
    or no value turns it on and ("off",) off. `PREFIX` puts its words before the prefix, or removes the prefix;
    `VARIABLE` and a name set or remove a variable."""

    def apply(self, plan: Plan) -> Plan:
        """The plan with the fix's edits made."""
        for option, values in self.edits:
            known = CATALOGUE.get(option)
            if option == PREFIX:
                plan = replace(plan, prefix=() if values is None else (*values, *plan.prefix))
            elif option.startswith(VARIABLE):
                plan = plan.with_variable(option.removeprefix(VARIABLE), values[0] if values else None)
            elif values is None:
                plan = plan.without(option)
            elif known is not None and known.is_switch:
                plan = plan.with_(option, on=values != ("off",))
            else:
                plan = plan.with_(option, *values)
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
    """All that `env` sets, keys as their reference or masked."""
    own: str = ""
    own_env: tuple[tuple[str, str], ...] = ()
    """The plan's own part of `shown_env`, without additions and without keys."""
    secrets: tuple[tuple[str, str], ...] = ()
    """(variable, reference or mask) of every key that travels in `env`."""
    unresolved: tuple[str, ...] = ()
    """References of API keys that nothing was found for. `argv` then names a key file that does not exist, so that the
    server refuses to start instead of serving without a key."""

    @property
    def argv(self) -> tuple[str, ...]:
        """What is executed."""
        added = tuple(word for a in self.additions for word in a.argv)
        closed = tuple(word for reference in self.unresolved for word in ("--api-key-file", reference))
        return (*self.prefix, *self.program, *self.own_argv, *added, *closed)


@dataclass(frozen=True)
class Card:
    """How a card is set up, by its driver's word; None where it does not tell. Watts."""

    name: str
    limit_w: float | None = None
    default_limit_w: float | None = None
    persistence: bool | None = None


@dataclass(frozen=True)
class Conditions:
    """What the checks must know of the world, gathered below and passed in; None = not known."""

    model_exists: bool | None = None
    model_is_folder: bool = False
    missing_paths: tuple[str, ...] = ()
    """Paths named in the plan that do not exist."""
    port_free: bool | None = None
    free_port: int | None = None
    """A port that can be bound right now: used where the plan names none."""
    port_holder: str | None = None
    file_system: str | None = None
    remote_file_system: bool | None = None
    load_1min: float | None = None
    memlock_bytes: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Inherited LLAMA_*, GGML_*, CUDA_*, HIP_*, … variables."""
    keeps_environment: bool = False
    """Inherited variables that set options stay in place: the addition "clean-environment" is off."""
    config_ini: Mapping[str, str] = field(default_factory=dict)
    draft: ModelFile | None = None
    """The file that the plan names as its draft model, where it could be read."""
    projector: ModelFile | None = None
    """The same for its projector (--mmproj)."""
    prefix_found: bool | None = None
    """Whether the first word of the prefix is a program that can be run here."""
    governors: tuple[tuple[str, str], ...] = ()
    """(driver, governor) of the processor's clock, each pair once (Linux)."""
    cards: tuple[Card, ...] = ()
    iommu: bool | None = None
    """Whether an IOMMU stands between cards and memory (Linux)."""
    nccl: bool | None = None
    """Whether the engine's CUDA library was built with NCCL."""
    numa_balancing: bool | None = None
    """Whether the kernel moves pages between banks of memory by itself (Linux)."""
    cached_fraction: float | None = None
    """How much of the model file lies in the page cache, 0 to 1; asked only where --numa is set."""
    rpc_hosts: tuple[tuple[str, str], ...] = ()
    """(address, state) of the RPC hosts of the plan that would not serve when they were last asked, which is at a
    launch or on request: "silent", "busy" (with another client) or "foreign" (something else listens)."""
