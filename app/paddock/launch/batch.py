"""From a batch file of cmd.exe to words, in the order and form in which `words.read_words` gives those of a shell.

Two readers stand behind each other, as on Windows: cmd takes `%NAME%`, `^` and operators, and what it hands on is taken
apart by the C library's rules for quotation marks and backslashes. `set NAME=value` becomes `export NAME=value`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from paddock.launch.words import QUOTED_DOLLAR, Word

_START = re.compile(
    r"(?:\s|(?:rem\b|::)[^\n]*\n)*(?:@\s*echo\s+off|@\s*rem\b|setlocal\b[^\n]*$|set\s+\"|[A-Za-z]:\\[^>\n]*>)",
    re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"\s*@?\s*(?:rem\b|::)", re.IGNORECASE)
_SET = re.compile(r"\s*@?\s*set\s+(?:\"([A-Za-z_]\w*)=(.*)\"|([A-Za-z_]\w*)=(.*?))\s*", re.IGNORECASE | re.DOTALL)
_CHATTER = re.compile(r"\s*@?\s*(?:echo|setlocal|endlocal|pause|title|color|chcp|cls|exit|goto|pushd|popd)\b",
                      re.IGNORECASE)
_START_COMMAND = re.compile(r"^\s*@?\s*start\s+(?:\"[^\"]*\"\s+)?(?:/\w+\s+)*", re.IGNORECASE)
_PROMPT = re.compile(r"^\s*[A-Za-z]:\\[^>\n]*>")
_OPERATOR = re.compile(r"&&|\|\||\d?>>?(?:&\d)?|[&|<]")
_USE = re.compile(r"%(\w+)%")


def is_batch(text: str) -> bool:
    """Whether it begins as only batch files do."""
    return _START.match(text) is not None


def read_batch(text: str) -> list[Word]:
    """The words and operators of a batch file."""
    out: list[Word] = []
    known: dict[str, str] = {}
    for line in _lines(text):
        found = _SET.fullmatch(line)
        if found:
            name, value = (found[1], found[2]) if found[1] else (found[3], found[4])
            value = _unescaped(_put_in(value, known), quoted=bool(found[1]))
            known[name.upper()] = value
            out += [Word("export"), Word(f"{name}={value}"), Word("\n", True)]
        elif not _COMMENT.match(line) and not _CHATTER.match(line):
            line = _START_COMMAND.sub("", _PROMPT.sub("", line, count=1), count=1).lstrip().removeprefix("@")
            for command, operator in _commands(_put_in(line, known)):
                out += [Word(word) for word in c_words(command)]
                out.append(Word(operator, True))
    return out


def _lines(text: str) -> list[str]:
    """A caret at the end of a line joins it with the next; people put spaces behind it, too."""
    return re.split(r"\r?\n", re.sub(r"\^[ \t]*\r?\n", " ", text))


def _put_in(line: str, known: Mapping[str, str]) -> str:
    """`%NAME%` where the file sets it (else kept, marked as a variable); `%%` is one percent sign."""
    def value(match: re.Match[str]) -> str:
        return known.get(match[1].upper(), f"{QUOTED_DOLLAR}{{{match[1]}}}")

    return "%".join(_USE.sub(value, part) for part in line.split("%%"))


def _unescaped(text: str, quoted: bool) -> str:
    return text if quoted else re.sub(r"\^(.)", r"\1", text)


def _commands(line: str) -> list[tuple[str, str]]:
    """Cut at operators outside quotes, carets taken away there; each with the operator that ends it."""
    out: list[tuple[str, str]] = []
    current, quoted, at = "", False, 0
    while at < len(line):
        char = line[at]
        operator = _OPERATOR.match(line, at)
        if char == "^" and not quoted:
            current += line[at + 1:at + 2]
            at += 2
        elif operator and not quoted and not (operator[0][0].isdigit() and current[-1:].strip()):
            out.append((current, operator[0]))
            current, at = "", operator.end()
        else:
            quoted ^= char == '"'
            current += char
            at += 1
    return [*out, (current, "\n")]


def c_words(line: str) -> list[str]:
    """As Microsoft's C library takes a command line apart: 2n backslashes and a quotation mark are n backslashes and
    the end or beginning of a quote, 2n + 1 are n backslashes and the mark itself, others stand for themselves."""
    words: list[str] = []
    word: list[str] | None = None
    quoted, at = False, 0
    while at < len(line):
        slashes = len(line) - at - len(line[at:].lstrip("\\"))
        mark = line[at + slashes:at + slashes + 1] == '"'
        if slashes:
            word = [*(word or []), "\\" * (slashes // 2 if mark else slashes)]
            at += slashes
            if mark and slashes % 2:
                word.append('"')
                at += 1
            continue
        char = line[at]
        at += 1
        if char == '"':
            word, quoted = word or [], not quoted
        elif char in " \t" and not quoted:
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = [*(word or []), char]
    return [*words, "".join(word)] if word is not None else words
