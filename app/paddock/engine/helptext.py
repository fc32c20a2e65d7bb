"""Reads a program's --help into its options: what this very binary knows, whatever its build number says.

The form, since the options are described by one table in llama.cpp (2024 on): `----- common params -----` headers, an
entry from column 0, its help from column 40, continuation lines with 40 spaces, wrapped greedily at 70. Older builds
and forks indent their entries and use other columns; they are read as far as that goes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from paddock.engine.helpvalues import choices_of, default_of, env_of, is_removed, replacement_of, value_count_of
from paddock.engine.model import EngineOption

_COLUMN = 40
_WRAP = 70
_NAME = r"-{1,2}[A-Za-z0-9][\w.\-]*"
_ENTRY = re.compile(rf"^ {{0,16}}(?={_NAME}(?:[,\s=]|$))")
_NAMES = re.compile(rf"(?P<name>{_NAME})(?P<comma>,\s*)?")
_SECTION = re.compile(r"^-{3,}\s*(?P<name>.+?)\s*-{3,}$")
_OLD_SECTION = re.compile(r"^(?P<name>[A-Za-z][\w /()+-]*):$")
_GAP = re.compile(r"\s{2,}")
_CORE = frozenset({"--model", "--ctx-size", "--port", "--host"})
_ENOUGH = 40


@dataclass
class _Entry:
    head: str
    section: str
    lines: list[str] = field(default_factory=list)


def parse_help(text: str) -> tuple[tuple[EngineOption, ...], bool]:
    """The options in the order of the help, and whether enough was understood to say what the program has not.

    Verified means: at least 40 options, the flags without which no server can be started among them, and hardly
    a line that belongs to nothing.
    """
    entries, stray = _entries(text)
    options = tuple(option for entry in entries if (option := _option(entry)))
    names = {name for option in options for name in option.names}
    verified = len(options) >= _ENOUGH and names >= _CORE and stray + len(entries) - len(options) <= len(options) // 20
    return options, verified


def _entries(text: str) -> tuple[list[_Entry], int]:
    entries: list[_Entry] = []
    section, stray = "", 0
    for raw in text.expandtabs().splitlines():
        line = raw.rstrip()
        header = _SECTION.match(line) or _OLD_SECTION.match(line)
        if header:
            section = header["name"].removesuffix(" params")
        elif _ENTRY.match(line):
            head, first = _split(line)
            entries.append(_Entry(head, section, [first] if first else []))
        elif line.startswith(" " * 16) and entries:
            entries[-1].lines.append(line[_COLUMN:] if line.startswith(" " * _COLUMN) else line.strip())
        elif not line:
            if raw and entries:
                entries[-1].lines.append("")
        elif entries:
            stray += 1
    return entries, stray


def _split(line: str) -> tuple[str, str]:
    """An entry's line to its head and the first line of its help."""
    if len(line) > _COLUMN and not line.startswith(" ") and line[_COLUMN - 3:_COLUMN].isspace():
        return line[:_COLUMN].strip(), line[_COLUMN:]
    names, rest = _names(line.strip())
    if not names:
        return line.strip(), ""
    stripped = line.strip()
    start = len(stripped) - len(rest)
    gap = _GAP.search(stripped, start)
    return (stripped, "") if gap is None else (stripped[:gap.start()], stripped[gap.end():])


def _names(head: str) -> tuple[list[str], str]:
    """All spellings at the start of a head, and what follows the last one."""
    names: list[str] = []
    position = 0
    while match := _NAMES.match(head, position):
        names.append(match["name"])
        position = match.end()
        if not match["comma"]:
            break
    return names, head[position:]


def _option(entry: _Entry) -> EngineOption | None:
    names, rest = _names(entry.head)
    if not names:
        return None
    hint = rest.strip().lstrip("=") or None
    positive, negations = _negations(names, hint)
    env, lines = env_of(entry.lines)
    help_text = _reflow(lines)
    removed = is_removed(help_text)
    return EngineOption(
        names=positive,
        negations=negations,
        hint=hint,
        value_count=value_count_of(hint),
        choices=choices_of(hint, help_text),
        default=None if removed else default_of(help_text),
        env=env,
        section=entry.section,
        help=help_text,
        removed=removed,
        replacement=replacement_of(help_text) if removed else None,
    )


def _negations(names: list[str], hint: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Spellings to set and spellings to unset: all of the first come first, so the border is all there is to find.

    `--no-host` alone, or `-nkvo, --no-kv-offload` of an older build, is no negation: there is nothing that it undoes.
    A short spelling such as -nr right before the first `--no-` belongs to the negations.
    """
    border = next((index for index, name in enumerate(names) if name.startswith(("--no-", "-no-"))), 0)
    while border > 0 and re.match(r"-n(?!-)", names[border - 1]):
        border -= 1
    if hint is not None or border == 0:
        return tuple(names), ()
    return tuple(names[:border]), tuple(names[border:])


def _reflow(lines: list[str]) -> str:
    """Undo the greedy wrap at 70 columns: a break after which the next word would still have fitted was meant."""
    out: list[str] = []
    open_line = False
    previous = 0
    for line in lines:
        words = line.split(maxsplit=1)
        meant = not words or line[:1].isspace() or previous + 1 + len(words[0]) <= _WRAP
        if open_line and not meant:
            out[-1] = f"{out[-1]} {line}"
        else:
            out.append(line)
        open_line, previous = bool(words), len(line)
    while out and not out[-1].strip():
        out.pop()
    return "\n".join(out)
