"""Flags that this engine does not take, and what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from paddock.engine.model import Engine
from paddock.launch.catalogue import CATALOGUE, NEVER, Group, Option, normal
from paddock.launch.catalogue.retired import ELSEWHERE, OF_LLAMA_CLI
from paddock.launch.checks.question import ON, Edits, Question, error, hint, warning
from paddock.launch.model import Issue, Setting
from paddock.launch.spelling import known_to, spelling, takes_no_value, write
from paddock.text import Text

Moved = tuple[tuple[str, str | None], ...]


def unknown_flags(q: Question) -> Iterator[Issue]:
    """Every flag that this engine would refuse, with its replacement where there is one."""
    for setting in q.plan:
        option = CATALOGUE.get(setting.option)
        if option is None:
            yield from _foreign(q, setting)
        elif q.engine is not None and not known_to(option, q.engine, setting.on):
            yield _not_here(q.engine, option, setting)
        elif q.engine is None and option.retired:
            yield _retired(option, setting)


def _foreign(q: Question, setting: Setting) -> Iterator[Issue]:
    """A flag outside the catalogue: fine if the engine knows it."""
    flag = normal(setting.option)
    known = q.engine.knows(flag) if q.engine is not None else None
    if known:
        return
    stub = q.engine.removed.get(flag) if q.engine is not None else None
    moved = NEVER.get(flag)
    name, joined, value = flag.partition("=")
    if stub is not None:
        yield _removed_stub(setting, stub.replacement or stub.help)
    elif joined and CATALOGUE.of(name) is not None:
        yield _equals_sign(setting, name, value)
    elif flag in OF_LLAMA_CLI:
        yield error("flag-of-llama-cli", setting.option,
                    Text("{flag} belongs to llama-cli, the program for the terminal; the server does not take it.",
                         flag=flag), Text("Take it out: prompts, pictures and the like come with each request."),
                    ((setting.option, None),))
    elif moved is not None:
        yield _never(setting, moved)
    else:
        yield _unknown(q, setting, flag, known)


def _unknown(q: Question, setting: Setting, flag: str, known: bool | None) -> Issue:
    near = _nearest(flag, q.engine)
    fix = Text("Did you mean {near}?", near=near) if near else Text("Take it out, or choose an engine that has it.")
    found = CATALOGUE.of(near) if near else None
    if found is not None and found.option.is_switch:
        edits: Edits = ((setting.option, None), (found.option.id, ("on" if found.on else "off",)))
    elif found is not None and len(setting.values) == found.option.value_count:
        edits = ((setting.option, None), (found.option.id, setting.values))
    else:
        edits = ((setting.option, None),)
    if known is None:
        return warning("unknown-flag", setting.option,
                       Text("{flag} is not known to Paddock, and this engine's flags could not be checked.",
                            flag=setting.option), fix if near else None, edits if near else ())
    return error("unknown-flag", setting.option,
                 Text("This engine does not know {flag}: it would end with “invalid argument”.", flag=setting.option),
                 fix, edits)


def _nearest(flag: str, engine: Engine | None) -> str | None:
    """The spelling that was probably meant: one dash too many or too few, else a close one."""
    verified = engine is not None and engine.flags_verified
    names = tuple(engine.by_flag) if engine is not None and verified else tuple(
        name for option in CATALOGUE for name in (*option.names, *option.negations))
    bare = flag.lstrip("-")
    for candidate in (f"-{bare}", f"--{bare}"):
        if candidate in names:
            return candidate
    long = [name for name in names if name.startswith("--")]
    return next(iter(difflib.get_close_matches(f"--{bare}", long, 1, 0.75)), None)


def _equals_sign(setting: Setting, name: str, value: str) -> Issue:
    return error("flag-with-equals", setting.option,
                 Text("llama.cpp does not take a value behind “=”: {flag}.", flag=setting.option),
                 Text("Write {name} and the value as two words.", name=name),
                 ((setting.option, None), (CATALOGUE.canonical(name), (value,))))


def _never(setting: Setting, moved: Moved) -> Issue:
    if not moved:
        return error("flag-never-existed", setting.option,
                     Text("llama.cpp never had {flag}; another program has.", flag=setting.option),
                     ELSEWHERE.get(normal(setting.option), Text("Take it out.")), ((setting.option, None),))
    return error("flag-never-existed", setting.option,
                 Text("llama.cpp never had {flag}; guides and other programs name it.", flag=setting.option),
                 Text("Use {flags} instead.", flags=_flags(moved)), _edits(setting, moved))


def _removed_stub(setting: Setting, replacement: str) -> Issue:
    names = re.findall(r"(?<![\w-])--?[\w][\w-]*", replacement)
    found = CATALOGUE.of(names[0]) if names else None
    edits: Edits = ((setting.option, None),)
    if found is not None:
        edits += ((found.option.id, setting.values),)
    return error("removed-flag", setting.option,
                 Text("{flag} was removed: this engine would end at once.", flag=setting.option),
                 Text("Use {flags} instead.", flags=" / ".join(names)) if names else Text("Take it out."), edits)


def _not_here(engine: Engine, option: Option, setting: Setting) -> Issue:
    """The catalogue knows it, this engine does not: a newer or older name may serve."""
    flag = _as_written(setting)
    if option.retired or any(name in engine.removed for name in option.names):
        return _retired(option, setting)
    older = _older_name(engine, option, setting)
    if older is not None:
        return error("flag-too-new", option.id, Text("This engine does not know {flag} yet.", flag=flag),
                     Text("Use {flags} instead.", flags=_flags(older)), _edits(setting, older))
    if not setting.on and known_to(option, engine):
        return error("no-negation", option.id,
                     Text("This engine cannot turn {flag} off by a flag.", flag=spelling(option, engine)),
                     Text("Take it out."), ((option.id, None),))
    return error("flag-too-new", option.id, Text("This engine does not know {flag}.", flag=flag),
                 Text("Take it out, or choose an engine that has it."), ((option.id, None),))


def _retired(option: Option, setting: Setting) -> Issue:
    moved = option.moved if setting.on else option.moved_off
    flag = _as_written(setting)
    if option.id == "draft" and setting.value is not None and not setting.value.lstrip("-").isdecimal():
        return error("flag-never-existed", option.id,
                     Text("{flag} never took a file: it was a number of tokens, and is gone.", flag=flag),
                     Text("Use -md with the file, and --spec-type draft-simple."),
                     ((option.id, None), ("spec-draft-model", setting.values), ("spec-type", ("draft-simple",))))
    if not moved:
        why = Text("") if option.moved else option.help
        return error("removed-flag", option.id,
                     Text("{flag} is gone from llama.cpp: an engine of today would end at once. {why}", flag=flag,
                          why=why), Text("Take it out."), ((option.id, None),))
    return error("removed-flag", option.id,
                 Text("{flag} is gone from llama.cpp: an engine of today would end at once.", flag=flag),
                 Text("Use {flags} instead.", flags=_flags(moved)), _edits(setting, moved))


def _older_name(engine: Engine, option: Option, setting: Setting) -> Moved | None:
    """The way back: an old option that this engine has and that today's option replaced."""
    for old in CATALOGUE.options:
        if not old.retired:
            continue
        if (option.id, None) in old.moved and known_to(old, engine):
            return ((old.id, None),)
        if (option.id, setting.value) in old.moved and known_to(old, engine):
            return ((old.id, "on"),)
        if (option.id, setting.value) in old.moved_off and known_to(old, engine, False):
            return ((old.id, "off"),)
    return None


def _as_written(setting: Setting) -> str:
    words = write(setting, None)
    return words[0] if words else setting.option


def _flags(moved: Moved) -> str:
    """How a replacement is written: "-lm mlock", "--spec-draft-n-max"."""
    out = []
    for name, value in moved:
        option = CATALOGUE[name]
        if option.is_switch:
            out.append(spelling(option, None, value != "off") or option.names[0])
        else:
            out.append(f"{option.names[0]} {value}" if value is not None else option.long_name)
    return ", ".join(out)


def _edits(setting: Setting, moved: Moved) -> Edits:
    new = tuple((name, (value,) if value is not None else setting.values) for name, value in moved)
    return ((setting.option, None), *new)


def bare_flag(q: Question) -> Iterator[Issue]:
    """`-fa off` cannot be said to an engine that knows only a bare `-fa`."""
    for setting in q.plan:
        option = CATALOGUE.get(setting.option)
        if option is None or not option.optional_value or not takes_no_value(option, q.engine):
            continue
        if setting.value is not None and setting.value not in ON:
            yield hint("flag-left-out", option.id,
                       Text("This engine knows {flag} only without a value; for “{value}” it is left out.",
                            flag=option.names[0], value=setting.value), Text("A newer engine takes the value."))


def program_options(q: Question) -> Iterator[Issue]:
    """--help and the like print something and end."""
    for setting in q.plan:
        option = CATALOGUE.get(setting.option)
        if option is not None and option.group is Group.PROGRAM:
            yield error("ends-at-once", option.id, Text("With {flag} the program prints and ends.",
                                                        flag=option.long_name),
                        Text("Take it out."), ((option.id, None),))


def without_effect(q: Question) -> Iterator[Issue]:
    """Options that llama.cpp still reads and no longer heeds."""
    if q.plan.find("defrag-thold") is not None:
        yield hint("without-effect", "defrag-thold", Text("-dt no longer does anything."), Text("Take it out."),
                   (("defrag-thold", None),))


def repeated_flags(q: Question) -> Iterator[Issue]:
    """The last one wins, with a warning of llama.cpp."""
    seen: dict[str, int] = {}
    for setting in q.plan:
        seen[setting.option] = seen.get(setting.option, 0) + 1
    for name, count in seen.items():
        option = CATALOGUE.get(name)
        last = q.plan.find(name)
        if count > 1 and option is not None and not option.appends and last is not None:
            values = last.values if not option.is_switch else ("on" if last.on else "off",)
            yield hint("repeated-flag", name,
                       Text("{flag} is given {times} times; the last one counts.", flag=option.names[0], times=count),
                       Text("Keep the last one."), ((name, None), (name, values)))


def left_out_words(q: Question) -> Iterator[Issue]:
    """Words of a pasted line that belong to no flag."""
    if q.plan.extra:
        yield warning("left-out", None, Text("Not part of the launch: {words}", words=" ".join(q.plan.extra)),
                      Text("A word without a flag would make llama.cpp stop."))
