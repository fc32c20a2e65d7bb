"""systemd units: ExecStart and Environment (systemd.service(5), systemd.syntax(7))."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace

from paddock.launch.importing.imported import Form, Imported, shell_words
from paddock.launch.parsing import parse


def _is_unit(text: str, hint: str) -> bool:
    return re.search(r"^ExecStart\s*=", text, re.MULTILINE) is not None


def _unit(text: str) -> Iterator[Imported]:
    joined = re.sub(r"\\\n\s*", " ", text)
    environment: list[str] = []
    command = None
    name = None
    for line in joined.split("\n"):
        key, _, value = line.strip().partition("=")
        if key.strip() == "Environment":
            environment += shell_words(_unescaped(value).replace("%%", "%"))
        elif key.strip() == "ExecStart" and command is None:
            command = _unescaped(value.strip().lstrip("-@:+!")).replace("%%", "%").replace("$$", "$")
        elif key.strip() == "Description":
            name = value.strip()
    plan = parse(command or "")
    pairs = tuple((k, v) for k, _, v in (e.partition("=") for e in environment))
    yield Imported(replace(plan, environment=(*pairs, *plan.environment)), name, "systemd")


def _unescaped(value: str) -> str:
    """systemd's C escapes as characters; a doubled backslash and quotes are left to the reader of words."""
    def character(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1 and (number := int(code[1:], 16)) <= sys.maxunicode:
            return chr(number)
        return _ESCAPES.get(code, match[0])

    return re.sub(r"\\(\\|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", character, value)


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}


SYSTEMD = Form(_is_unit, _unit)
