"""How a setting is written for one engine."""

from __future__ import annotations

import os.path
from collections.abc import Sequence

from paddock.engine.model import Engine, EngineOption
from paddock.launch.catalogue import CATALOGUE, Group, Kind, Option
from paddock.launch.model import Setting

_ON = frozenset(("on", "enabled", "true", "1"))


def spelling(option: Option, engine: Engine | None, on: bool = True) -> str | None:
    """The shortest spelling that this engine knows; the catalogue's first where that cannot be told.

    None: an option without a negation cannot be turned off by writing something.
    """
    names = option.names if on else option.negations
    if not names:
        return None
    if engine is not None and engine.flags_verified:
        return next((name for name in names if name in engine.by_flag), names[0])
    return names[0]


def known_to(option: Option, engine: Engine, on: bool = True) -> bool:
    """Whether this engine takes it under any of its spellings. True where its flags could not be verified."""
    if not engine.flags_verified:
        return True
    return any(name in engine.by_flag for name in (option.names if on else option.negations))


def engine_option(option: Option, engine: Engine | None) -> EngineOption | None:
    """What the engine's own help says about it."""
    if engine is None or not engine.flags_verified:
        return None
    return next((engine.by_flag[name] for name in (*option.names, *option.negations) if name in engine.by_flag), None)


def write(setting: Setting, engine: Engine | None) -> tuple[str, ...]:
    """The words of one setting, values as they stand in the plan.

    An option that this engine takes only without a value (`-fa` of old builds) is written bare for "on" and left
    out for anything else.
    """
    option = CATALOGUE.get(setting.option)
    if option is None:
        return (setting.option, *setting.values)
    name = spelling(option, engine, setting.on)
    if name is None:
        return ()
    if option.is_switch:
        return (name,)
    if option.optional_value and setting.values and takes_no_value(option, engine):
        return (name,) if setting.values[0] in _ON else ()
    return (name, *setting.values)


def takes_no_value(option: Option, engine: Engine | None) -> bool:
    """Whether this engine knows a valued option as a bare flag."""
    known = engine_option(option, engine)
    return known is not None and known.value_count == 0


def takes_paths(setting: Setting) -> bool:
    """Whether its values are paths, in which a shell would have put the home folder for `~`."""
    option = CATALOGUE.get(setting.option)
    return option is not None and (
        option.kind in (Kind.PATH, Kind.FOLDER) or (option.kind is Kind.LIST and option.group is Group.LORA))


def expanded(words: Sequence[str], setting: Setting) -> tuple[str, ...]:
    """The words as they are executed: a leading `~/` in a path is the home folder."""
    if not takes_paths(setting):
        return tuple(words)
    return tuple(os.path.expanduser(word) if word.startswith("~/") else word for word in words)
