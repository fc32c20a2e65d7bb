"""What a file of another program becomes, and how values of such files are written."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.errors import AppError
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.model import Plan
from paddock.text import Text


@dataclass(frozen=True)
class Imported:
    """One plan of a file. `name` is the file's own name for it, where it has one; `form` says what was recognised."""

    plan: Plan
    name: str | None
    form: str


@dataclass(frozen=True)
class Form:
    """One kind of file: whether a text (and the file's name in small letters) is one, and the plans in it."""

    recognise: Callable[[str, str], bool]
    read: Callable[[str], Iterator[Imported]]


def json_object(text: str) -> dict[str, Any] | None:
    """The object that the text is; None for any other text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def damaged(program: str, error: json.JSONDecodeError) -> AppError:
    """For a file that is meant to be JSON."""
    return AppError(Text("The settings of {program} are damaged in line {line}.", program=program, line=error.lineno),
                    why=error.msg)


def shell_words(text: str) -> list[str]:
    """The words of a line in quotes as a POSIX shell has them. AppError where a quote is never closed."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise AppError(Text("A quotation mark is never closed: {text}", text=text[:60]), why=str(error)) from error


def arguments(words: Sequence[str], texts: Sequence[str] = ()) -> dict[str, Any]:
    """A line for Python's argparse by its names: `--gpu-layers 20` is gpu_layers, a flag without a value is True.

    `texts`: those whose value may look like a flag itself.
    """
    found: dict[str, Any] = {}
    name = None
    for word in words:
        if name in texts and found[str(name)] is True:
            found[str(name)] = word
        elif word.startswith("--"):
            name, _, value = word[2:].partition("=")
            name = name.replace("-", "_")
            found[name] = value or True
        elif name is not None:
            before = found[name]
            found[name] = word if before is True else f"{before},{word}"
    return found


def written(value: Any) -> str:
    """A value of JSON or YAML as one word: whole numbers without a fraction."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def kept(found: Mapping[str, Any], but: Sequence[str] = ()) -> tuple[str, ...]:
    """Keys that became nothing, word by word."""
    return tuple(f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in found.items()
                 if key not in but)


def carried(plan: Plan, found: Mapping[str, Any], table: Mapping[str, str]) -> Plan:
    """The plan with every key of the table that the file sets: key there -> option here.

    A switch follows true and false; empty texts and nulls are left out.
    """
    for key, name in table.items():
        value = found.get(key)
        if value is None or value == "":
            continue
        if CATALOGUE[name].is_switch:
            plan = plan.with_(name, on=bool(value)) if value or CATALOGUE[name].negations else plan
        else:
            plan = plan.with_(name, written(value))
    return plan


def with_extra(plan: Plan, words: Sequence[str]) -> Plan:
    """The plan with words that were not understood."""
    return replace(plan, extra=(*plan.extra, *words))
