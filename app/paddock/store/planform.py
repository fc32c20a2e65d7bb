"""A plan as plain tables (for TOML and JSON) and back, exactly: order, repetitions, empty texts and "0" included.

Stored is the meaning (catalogue ids and values), not flag text. Short form, where every option stands once:

    [settings]
    ctx-size = "8192"        # one value
    mlock = true             # a switch; false: switched off
    override-tensor = ["a", "b"]

Otherwise an array of tables `[[settings]]` with option, values, on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.errors import AppError
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.model import Plan, Setting
from paddock.text import Text


def plan_table(plan: Plan) -> dict[str, Any]:
    """The plan as a table; what is empty is left out."""
    out: dict[str, Any] = {}
    if plan.engine is not None:
        out["engine"] = plan.engine
    if plan.prefix:
        out["prefix"] = list(plan.prefix)
    if plan.extra:
        out["extra"] = list(plan.extra)
    names = [name for name, _ in plan.environment]
    if plan.environment:
        unique = len(set(names)) == len(names)
        out["environment"] = dict(plan.environment) if unique else [[n, v] for n, v in plan.environment]
    if plan.settings:
        out["settings"] = _settings(plan.settings)
    return out


def _settings(settings: tuple[Setting, ...]) -> Any:
    options = [s.option for s in settings]
    if len(set(options)) == len(options) and all(s.on or not s.values for s in settings):
        return {s.option: _short(s) for s in settings}
    return [{"option": s.option, "values": list(s.values), "on": s.on} for s in settings]


def _short(setting: Setting) -> Any:
    if not setting.values:
        return setting.on
    return setting.values[0] if len(setting.values) == 1 else list(setting.values)


def read_plan(table: Mapping[str, Any]) -> Plan:
    """The plan in a table. Numbers written by hand are taken as their text. AppError names the wrong key."""
    engine = table.get("engine")
    if engine is not None and not isinstance(engine, str):
        raise _wrong("engine", engine)
    return Plan(
        settings=_read_settings(table.get("settings", {})), environment=_pairs(table.get("environment", {})),
        prefix=_texts("prefix", table.get("prefix", [])), engine=engine,
        extra=_texts("extra", table.get("extra", [])))


def _read_settings(value: Any) -> tuple[Setting, ...]:
    if isinstance(value, Mapping):
        return tuple(_from_short(str(option), one) for option, one in value.items())
    if not isinstance(value, list):
        raise _wrong("settings", value)
    out = []
    for one in value:
        if not isinstance(one, Mapping) or not isinstance(one.get("option"), str):
            raise _wrong("settings", one)
        on = one.get("on", True)
        if not isinstance(on, bool):
            raise _wrong("settings.on", on)
        out.append(Setting(one["option"], _texts(f"settings.{one['option']}", one.get("values", [])), on))
    return tuple(out)


def _from_short(option: str, value: Any) -> Setting:
    if isinstance(value, bool):
        # Written by hand: "no-mmap" is no option, but the other side of one.
        found = CATALOGUE.of(f"--{option}") if CATALOGUE.get(option) is None else None
        if found is not None and not found.on:
            return Setting(found.option.id, (), not value)
        return Setting(option, (), value)
    if isinstance(value, list):
        return Setting(option, _texts(option, value))
    return Setting(option, (_text(option, value),))


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(value, Mapping):
        return tuple((str(n), _text(f"environment.{n}", v)) for n, v in value.items())
    if not isinstance(value, list):
        raise _wrong("environment", value)
    out = []
    for one in value:
        if not isinstance(one, list) or len(one) != 2:
            raise _wrong("environment", one)
        out.append((_text("environment", one[0]), _text("environment", one[1])))
    return tuple(out)


def _texts(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong(key, value)
    return tuple(_text(key, one) for one in value)


def _text(key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return str(value)
    raise _wrong(key, value)


def _wrong(key: str, value: Any) -> AppError:
    return AppError(Text("“{key}” does not hold what belongs there.", key=key), why=repr(value)[:80])
