"""What the page lists: one entry per option, variable and prefix, whatever its source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from paddock.desktop.tr import tr
from paddock.engine.model import Engine, EngineOption
from paddock.launch.catalogue import CATALOGUE, GROUP_NAMES, Group, Kind, Option
from paddock.launch.catalogue.advice import ADVICE
from paddock.launch.model import Plan
from paddock.launch.spelling import engine_option
from paddock.launch.variables import BY_NAME, VARIABLES, Variable, without_use
from paddock.text import Text

UNKNOWN, NEW, ENVIRONMENT, PREFIX = "unknown", "new", "environment", "prefix"
VARIABLE = "env:"
"""Before the name of a variable in an entry's key."""
STRAY = "stray-words"
_FIRST = ("spec-type", "spec-draft-model", "spec-draft-hf")
"""What others of their group wait for."""
_TAKE_DEVICES = ("device", "spec-draft-device")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Entry:
    """One row. `key` is the catalogue's id, a flag with dashes, `env:NAME` or `prefix`.

    At most one of `option` and `variable` is set; `theirs` is what the engine's own help says.
    """

    key: str
    group: str
    label: str
    names: tuple[str, ...]
    kind: Kind
    option: Option | None = None
    variable: Variable | None = None
    theirs: EngineOption | None = None
    devices: tuple[str, ...] = ()
    """The engine's devices, where the option takes their names."""
    inherited: str | None = None
    """The value that the variable has in our own environment."""

    @cached_property
    def flags(self) -> str:
        return ", ".join(self.names)

    @cached_property
    def short_flags(self) -> str:
        """The first two spellings, a short one and a long one where there are both."""
        long = next((name for name in self.names if name.startswith("--")), None)
        pair = dict.fromkeys(name for name in (*self.names[:1], long or "", *self.names[1:2]) if name)
        return ", ".join(list(pair)[:2])

    @cached_property
    def default(self) -> str | None:
        """What the engine uses when it is not set: what this engine's help says, else what the catalogue says."""
        if self.option is not None:
            return self.option.default
        if self.variable is not None:
            return self.variable.default
        if self.kind is Kind.FLAG:
            return "off"
        return self.theirs.default if self.theirs is not None else None

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """Values to choose among: the catalogue's, and those that only the engine's help lists."""
        own = self.option.choices if self.option is not None else self.variable.choices if self.variable else ()
        theirs = self.theirs.choices if self.theirs is not None else ()
        if self.option is None or self.kind in (Kind.ENUM, Kind.LIST):
            return tuple(dict.fromkeys((*own, *theirs, *self.devices)))
        return own

    @cached_property
    def appends(self) -> bool:
        return self.option is not None and self.option.appends

    @cached_property
    def secret(self) -> bool:
        return bool((self.option and self.option.secret) or (self.variable and self.variable.secret))

    @cached_property
    def help(self) -> str:
        if self.option is not None:
            return str(self.option.help)
        if self.group == PREFIX:
            return tr("Words that stand before the engine and start it: numactl for banks of memory, taskset for "
                      "chosen CPUs, nice to leave room for others, a script of your own.")
        return str(self.variable.help) if self.variable is not None else ""

    @cached_property
    def advice(self) -> str:
        """When one would change it, and what that costs; "" where nothing is known of it."""
        if self.group == PREFIX:
            return tr("With docker run the image brings its own engine: the port must be published (-p), and the "
                      "folder of the model mounted (-v).")
        text = ADVICE.get(self.option.id) if self.option is not None else None
        return str(text) if text is not None else ""

    @cached_property
    def unit(self) -> str:
        return str(self.option.unit) if self.option is not None and self.option.unit is not None else ""

    @cached_property
    def haystack(self) -> str:
        """Everything that a search looks through, in small letters; our texts in both languages."""
        parts = [self.label, self.flags, self.help, self.advice, *self.choices]
        if self.option is not None:
            parts += [self.option.id, self.option.label.template, self.option.help.template, self.option.env or "",
                      *self.option.names, *self.option.negations]
        if self.variable is not None:
            parts += [self.variable.label.template, self.variable.help.template]
        if self.theirs is not None:
            parts += [self.theirs.help, self.theirs.env or ""]
        return _SPACE.sub(" ", "\n".join(parts).lower())


def group_names() -> dict[str, str]:
    """Heading of each group, in the order of the page."""
    return {
        UNKNOWN: tr("Not in this engine"),
        NEW: tr("New in this engine"),
        **{str(group): str(name) for group, name in GROUP_NAMES.items()},
        ENVIRONMENT: tr("Environment"),
        PREFIX: tr("Prefix"),
    }


def entries(plan: Plan, engine: Engine | None, environ: Mapping[str, str]) -> list[Entry]:
    """All rows for this engine, in the order of the groups. `environ`: the inherited variables that matter."""
    out = _foreign(plan, engine)
    out += _new(engine)
    out += _known(plan, engine)
    out += _variables(plan, environ, device_kinds(engine))
    out.append(Entry("prefix", PREFIX, tr("Before the engine"), ("numactl, taskset, nice, …",), Kind.TEXT))
    order = list(group_names())
    return sorted(out, key=lambda e: (order.index(e.group), _FIRST.index(e.key) if e.key in _FIRST else len(_FIRST)))


def _foreign(plan: Plan, engine: Engine | None) -> list[Entry]:
    """What the plan holds and this engine has not; kept word for word. And words that belong to no flag."""
    out = []
    for setting in dict.fromkeys(s.option for s in plan.settings):
        option = CATALOGUE.get(setting)
        known = _takes(engine, option, setting)
        if known:
            continue
        kind = option.kind if option is not None else Kind.TEXT
        label = str(option.label) if option is not None else setting
        out.append(Entry(setting, UNKNOWN, label, _spellings(option, None) if option else (setting,), kind, option))
    if plan.extra:
        out.append(Entry(STRAY, UNKNOWN, tr("Words without a flag"), (), Kind.TEXT))
    return out


def _takes(engine: Engine | None, option: Option | None, flag: str) -> bool:
    if option is not None and option.group is Group.PROGRAM:
        return False
    if engine is None or not engine.flags_verified:
        return option is not None
    if option is None:
        return flag in engine.by_flag
    return engine_option(option, engine) is not None


def _new(engine: Engine | None) -> list[Entry]:
    """Options that the engine has and the catalogue lacks, built from the engine's help."""
    if engine is None or not engine.flags_verified:
        return []
    out = []
    for theirs in dict.fromkeys(engine.options):
        if theirs.removed or any(CATALOGUE.of(name) for name in (*theirs.names, *theirs.negations)):
            continue
        key = next((name for name in theirs.names if name.startswith("--")), theirs.names[0])
        out.append(Entry(key, NEW, _words_of(key), theirs.names, _kind_of(theirs), theirs=theirs))
    return out


def _words_of(flag: str) -> str:
    words = flag.lstrip("-").replace("-", " ")
    return words[:1].upper() + words[1:]


def _kind_of(theirs: EngineOption) -> Kind:
    if theirs.value_count == 0:
        return Kind.PAIR if theirs.negations else Kind.FLAG
    if theirs.value_count > 1:
        return Kind.RANGE
    if theirs.choices:
        return Kind.ENUM
    hint = (theirs.hint or "").strip("<>[]")
    if hint == "N":
        # "N" stands for whole numbers and for fractions; only a default can tell.
        return Kind.FLOAT if "." in (theirs.default or "") else Kind.INT
    return Kind.PATH if hint in ("FNAME", "FILE", "PATH", "FILENAME") else Kind.TEXT


def _known(plan: Plan, engine: Engine | None) -> list[Entry]:
    out = []
    verified = engine is not None and engine.flags_verified
    for option in CATALOGUE.options:
        theirs = engine_option(option, engine)
        if option.group is Group.PROGRAM or (option.retired and theirs is None):
            continue
        if verified and theirs is None and plan.find(option.id) is not None:
            continue
        names = tuple(d.name for d in engine.devices) if engine is not None and option.id in _TAKE_DEVICES else ()
        out.append(Entry(option.id, str(option.group), str(option.label), _spellings(option, engine), option.kind,
                         option, theirs=theirs, devices=("none", *names) if names else ()))
    return out


def _spellings(option: Option, engine: Engine | None) -> tuple[str, ...]:
    """As this engine names it; all names where that is not known."""
    if engine is None or not engine.flags_verified:
        return option.names
    return tuple(name for name in option.names if name in engine.by_flag) or option.names


def device_kinds(engine: Engine | None) -> frozenset[str] | None:
    """The backends that this engine listed devices of; None where that is not known."""
    if engine is None or engine.devices_error is not None or engine.error is not None:
        return None
    return frozenset(device.kind for device in engine.devices)


def _variables(plan: Plan, environ: Mapping[str, str], kinds: frozenset[str] | None) -> list[Entry]:
    others = [name for name in (*environ, *dict(plan.environment)) if name not in BY_NAME]
    found = [*VARIABLES, *(_other(name) for name in dict.fromkeys(others))]
    # What is inherited comes first: nobody looks for what he does not know of. What this engine does not read is last.
    found.sort(key=lambda v: (v.name not in environ, without_use(v, kinds) is not None))
    return [Entry(f"{VARIABLE}{v.name}", ENVIRONMENT, str(v.label), (v.name,),
                  Kind.ENUM if v.choices else Kind.TEXT, variable=v, inherited=environ.get(v.name)) for v in found]


def _other(name: str) -> Variable:
    """A variable outside the table; one that sets an option says which."""
    found = CATALOGUE.of_env(name)
    if found is None:
        return Variable(name, Text("Another variable"), Text(""))
    return Variable(name, Text("{option}, by a variable", option=found.option.label), found.option.help)
