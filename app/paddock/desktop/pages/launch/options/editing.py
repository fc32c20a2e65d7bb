"""How an edit of a row changes the plan: pure functions from plan to plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace

from paddock.desktop.pages.launch.options.entries import PREFIX, STRAY, UNKNOWN, VARIABLE, Entry
from paddock.launch.catalogue import Kind
from paddock.launch.model import Plan, Setting

Value = tuple[Setting, ...] | tuple[str, ...]
"""What a row holds: settings in order, the variable's one text, or the words of the prefix. () is "not set"."""


def names_of(entry: Entry) -> tuple[str, ...]:
    """The ids under which the plan may hold it; a flag outside the catalogue has one for each spelling."""
    if entry.option is not None or entry.theirs is None:
        return (entry.key,)
    return (*entry.theirs.names, *entry.theirs.negations)


def value_of(entry: Entry, plan: Plan | None) -> Value:
    """What this plan holds of it."""
    if plan is None:
        return ()
    if entry.key.startswith(VARIABLE):
        value = plan.variable(entry.key.removeprefix(VARIABLE))
        return () if value is None else (value,)
    if entry.group == PREFIX:
        return plan.prefix
    if entry.key == STRAY:
        return plan.extra
    names = names_of(entry)
    return tuple(s for s in plan.settings if s.option in names)


def put(entry: Entry, plan: Plan, value: Value) -> Plan:
    """The plan with this value, at the place where it stood."""
    if entry.key.startswith(VARIABLE):
        return _put_variable(plan, entry.key.removeprefix(VARIABLE), value)
    if entry.group == PREFIX:
        return replace(plan, prefix=tuple(str(word) for word in value))
    if entry.key == STRAY:
        return replace(plan, extra=tuple(str(word) for word in value))
    names = names_of(entry)
    new = [s for s in value if isinstance(s, Setting)]
    out: list[Setting] = []
    for setting in plan.settings:
        if setting.option not in names:
            out.append(setting)
        else:
            out += new
            new = []
    return replace(plan, settings=(*out, *new))


def _put_variable(plan: Plan, name: str, value: Value) -> Plan:
    pairs: list[tuple[str, str]] = []
    rest = [str(v) for v in value]
    for key, old in plan.environment:
        if key != name:
            pairs.append((key, old))
        elif rest:
            pairs.append((name, rest.pop()))
    return replace(plan, environment=(*pairs, *((name, text) for text in rest)))


def switched(entry: Entry, plan: Plan, saved: Plan | None, on: bool) -> Plan:
    """Turn a switch on or off; what is the default anyway is left out, unless the saved plan says it too."""
    if entry.option is not None:
        new: Value = (Setting(entry.key, (), on),)
    elif entry.theirs is not None and not on:
        new = (Setting(entry.theirs.negations[0]),) if entry.theirs.negations else ()
    else:
        new = (Setting(entry.key),)
    if not on and entry.kind is Kind.FLAG:
        new = ()
    usual = {"on": True, "off": False, "enabled": True, "disabled": False}.get(entry.default or "")
    if usual is on and new != value_of(entry, saved):
        new = ()
    return put(entry, plan, new)


def typed(entry: Entry, plan: Plan, saved: Plan | None, *values: str) -> Plan:
    """Set the values of one setting; an empty text takes it out, as does the default that the saved plan leaves out."""
    if entry.variable is not None:
        return put(entry, plan, tuple(values) if any(values) else ())
    if entry.group == PREFIX:
        return put(entry, plan, values)
    new: Value = (Setting(entry.key, values),) if any(values) else ()
    if len(values) == 1 and values[0] == entry.default and new != value_of(entry, saved):
        new = ()
    return put(entry, plan, new)


def repeated(entry: Entry, plan: Plan, values: Iterable[str]) -> Plan:
    """One setting for each text that is not empty."""
    return put(entry, plan, tuple(Setting(entry.key, (value,)) for value in values if value))


def words(text: str) -> tuple[str, ...]:
    """A prefix as a shell would take it apart; ValueError where a quotation mark is never closed."""
    return tuple(shlex.split(text))


def said(entry: Entry, value: Value) -> str:
    """A value in one line, as it would be typed: "q8_0", "on", "a b"; "" where it is not set."""
    parts = []
    for item in value:
        if isinstance(item, str):
            parts.append(shlex.quote(item) if entry.group == PREFIX or entry.key == STRAY else item)
        elif item.values:
            parts.append(" ".join(item.values))
        else:
            parts.append("on" if item.on and item.option not in _negations(entry) else "off")
    return (" " if entry.group == PREFIX or entry.key == STRAY else ", ").join(parts)


def _negations(entry: Entry) -> tuple[str, ...]:
    return entry.theirs.negations if entry.theirs is not None and entry.option is None else ()


def is_on(entry: Entry, value: Value) -> bool | None:
    """A switch as set; None where it is not set."""
    last = value[-1] if value else None
    if not isinstance(last, Setting):
        return None
    return last.on and last.option not in _negations(entry)


def verbatim(entry: Entry, value: Value) -> str:
    """The words of something that this engine has not, as they stand in the plan."""
    if entry.group != UNKNOWN or entry.key == STRAY:
        return said(entry, value)
    out: list[str] = []
    for item in value:
        if isinstance(item, Setting):
            name = entry.names[0] if entry.names else entry.key
            if entry.option is not None and not item.on and entry.option.negations:
                name = entry.option.negations[0]
            out += [name, *item.values]
    return shlex.join(out)
