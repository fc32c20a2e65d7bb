"""llama.cpp's own presets (INI, --models-preset; docs/preset.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.errors import AppError
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.importing.imported import Form, Imported
from paddock.launch.model import Plan, Setting
from paddock.text import Text

_BEFORE = "default"
"""What llama.cpp calls the keys before the first section."""
_PRESET_ONLY = ("load-on-startup", "stop-timeout", "dedup-cache-models", "version")


def _is_preset(text: str, hint: str) -> bool:
    sections = re.findall(r"^\s*\[([^\]\n]+)\]\s*$", text, re.MULTILINE)
    if {"Unit", "Service"} & set(sections):
        return False  # a systemd unit, here without a command
    return bool(sections) and not re.search(r"^\s*\[\[?(settings|plan)", text, re.MULTILINE) and (
        hint.endswith(".ini") or re.search(r"^\s*[\w-]+\s*=\s*[^\"'\[\s]", text, re.MULTILINE) is not None)


def _sections(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """As llama.cpp reads it (preset.cpp): a value ends at a line end, or at a `;` or `#` wherever it stands."""
    name, keys = _BEFORE, dict[str, str]()
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        line = re.split(r"[ \t]*[;#]", line, maxsplit=1)[0].strip(" \t")
        header = re.fullmatch(r"\[[ \t]*([^\]]+?)[ \t]*\]", line)
        pair = re.fullmatch(r"([A-Za-z_][\w.-]*)[ \t]*(?:=[ \t]*(.*))?", line, re.DOTALL)
        if header:
            yield name, keys
            name, keys = header[1], {}
        elif pair:
            keys[pair[1]] = pair[2] or ""
        elif line:
            raise AppError(Text("The preset file cannot be read in line {line}.", line=number), why=line[:80])
    yield name, keys


def _preset(text: str) -> Iterator[Imported]:
    """A plan for each section, with what the section "*" sets for all of them."""
    sections = list(_sections(text))
    common = {key: value for name, keys in sections if name == "*" for key, value in keys.items()}
    for name, keys in sections:
        if name == "*" or (name == _BEFORE and not set(keys) - set(_PRESET_ONLY)):
            continue
        settings: list[Setting] = []
        extra: list[str] = []
        for key, value in {**common, **keys}.items():
            if key not in _PRESET_ONLY:
                settings += _preset_setting(key, value)
            elif key != "version":
                extra.append(f"{key}={value}")
        yield Imported(Plan(tuple(settings), extra=tuple(extra)), name, "preset")


_ON_WORDS = {"on": True, "true": True, "1": True, "enabled": True, "": True,
             "off": False, "false": False, "0": False, "disabled": False}


def _preset_setting(key: str, value: str) -> tuple[Setting, ...]:
    """A key is an option's name without dashes (long or short) or its variable; a switch has a word for its value."""
    names = (f"--{key}", f"-{key}")
    found = CATALOGUE.of_env(key) or next((f for f in map(CATALOGUE.of, names) if f is not None), None)
    if found is None:
        return (Setting(names[0], (value,) if value else ()),)
    if found.option.is_switch:
        return (Setting(found.option.id, (), found.on == _ON_WORDS.get(value.lower(), True)),)
    return (Setting(found.option.id, (value,)),)


PRESET = Form(_is_preset, _preset)
