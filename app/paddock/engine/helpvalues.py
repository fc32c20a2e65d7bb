"""What an option's help says about its value: how many, which, the default, the environment variable."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ENV = re.compile(r"^\(env: (?P<name>[A-Z][A-Z0-9_]*)\)$")
_INLINE_ENV = re.compile(r"\s*\(env: (?P<name>[A-Z][A-Z0-9_]*)\)\s*$")
_REMOVED = re.compile(r"^(?:the )?argument has been removed\b", re.I)
_USE = re.compile(r"\buse\s+(?P<what>.+?)\.?$", re.S)
_ANGLES = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\}|\([^()]*\)")
_BRACKETED = re.compile(r"^(?:\{(?P<comma>[^{}]+)\}|[\[<(](?P<bar>[^\[\]<>()]+)[\]>)])$")
_WORD_LIST = re.compile(r"^[a-z0-9][a-z0-9_.+-]*(?:,[a-z0-9][a-z0-9_.+-]*){2,}$")
_ALLOWED = re.compile(r"^allowed values: (?P<values>.+)$", re.M)
_BULLET = re.compile(r"^\s*- (?P<name>[\w.+-]+)(?P<mark> \(default\))?: ", re.M)
_IN_PARENTHESES = re.compile(r"\(default: ?")
_OPEN_DEFAULT = re.compile(r"(?<![\w(])default: ")
_TOKEN = re.compile(r"^\S+$")


def env_of(lines: list[str]) -> tuple[str | None, list[str]]:
    """The environment variable of an option, and its help lines without that one (it is always the last)."""
    if lines:
        last = lines[-1].strip()
        if match := _ENV.match(last):
            return match["name"], lines[:-1]
        if match := _INLINE_ENV.search(lines[-1]):
            return match["name"], [*lines[:-1], lines[-1][:match.start()]]
    return None, lines


def is_removed(help_text: str) -> bool:
    """A stub that is listed only so that using it can be refused with a sentence."""
    return bool(_REMOVED.match(help_text))


def replacement_of(help_text: str) -> str | None:
    """What a removed option's sentence names instead: "--spec-draft-n-max or --spec-ngram-mod-n-max"."""
    match = _USE.search(" ".join(help_text.split()))
    return match["what"] if match else None


def value_count_of(hint: str | None) -> int:
    """Values that follow the flag: none, one, or two for a hint of two words such as START END."""
    if hint is None:
        return 0
    return max(1, len(_ANGLES.sub("x", hint).split()))


def choices_of(hint: str | None, help_text: str) -> tuple[str, ...]:
    """The values that the help enumerates, in its order; empty where it enumerates none."""
    if hint is None:
        return ()
    if match := _BRACKETED.match(hint):
        inner = match["comma"] or match["bar"]
        parts = [part.strip() for part in re.split(r"[,|]", inner)]
        return tuple(parts) if len(parts) > 1 and not inner.endswith(("..", "...")) and "," not in (
            match["bar"] or "") else ()
    if _WORD_LIST.match(hint):
        return tuple(hint.split(","))
    if match := _ALLOWED.search(help_text):
        return tuple(_allowed(match["values"]))
    return tuple(dict.fromkeys(match["name"] for match in _BULLET.finditer(help_text)))


def _allowed(values: str) -> Iterator[str]:
    """The words of a comma list; what follows its last word on the same line is help again."""
    for part in values.split(","):
        word, *rest = part.split(maxsplit=1) or [""]
        if word:
            yield word
        if rest:
            return


def default_of(help_text: str) -> str | None:
    """The default as the help prints it, without quotes and explanations: "0" of "(default: 0, 0 = disabled)"."""
    text = " ".join(help_text.split())
    match = _IN_PARENTHESES.search(text) or _OPEN_DEFAULT.search(text)
    if match is None:
        return next((bullet["name"] for bullet in _BULLET.finditer(help_text) if bullet["mark"]), None)
    return _plain(_inner(text[match.end():]))


def _inner(text: str) -> str:
    """Up to the parenthesis that closes the one around it, or to the end."""
    depth = 0
    for index, letter in enumerate(text):
        if letter == "(":
            depth += 1
        elif letter == ")":
            if depth == 0:
                return text[:index]
            depth -= 1
    return text


def _plain(text: str) -> str:
    """Drop what explains: a comma or semicolon followed by words; a list of bare words stays whole."""
    first, *rest = re.split(r"([,;]) ", text)
    parts = rest[1::2]
    if parts and all(_TOKEN.match(part) for part in parts):
        first = text
    first = first.split(" = ")[0].strip()
    if quoted := re.match(r"^(['\"])(.*?)\1(?:\s|$)", first):
        return quoted[2]
    return first
