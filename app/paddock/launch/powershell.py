"""From a PowerShell script to words, in the order and form in which `words.read_words` gives those of a POSIX shell.

An assignment to `$env:NAME` becomes `export NAME=value`, one to `$name` becomes `name=value`; uses of variables are
marked. Quoting follows about_Quoting_Rules: '' and "" inside quotes, a backtick in front of a character.
"""

from __future__ import annotations

import re

from paddock.errors import AppError
from paddock.launch.words import BARE_DOLLAR, QUOTED_DOLLAR, Word
from paddock.text import Text

_SINGLE, _DOUBLE = "'‘’‚‛", '"“”„'
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
_CONTINUATION = re.compile(r"`[ \t]*(#[^\n]*)?\r?\n")
_ASSIGNMENT = re.compile(r"\$(?:(env:)|(?:global|script|local):)?([A-Za-z_]\w*)[ \t]*(\+?=)[ \t]*", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?(?:env:)?([A-Za-z_]\w*)\}?", re.IGNORECASE)
_SPLAT = re.compile(r"@([A-Za-z_]\w*)")
START_PROCESS = "start-process"
_PROMPT = re.compile(r"PS [A-Za-z]:[^>\n]*> ")
_START = re.compile(r"(?:\s|#(?!!)[^\n]*\n|<#.*?#>)*"
                    r"(?:PS [A-Za-z]:[^>\n]*> |\$(?:env:)?\w+\s*\+?=|&\s*[\"'$.\w]|Start-Process\s)",
                    re.IGNORECASE | re.DOTALL)


def is_powershell(text: str) -> bool:
    """Whether the first statement is one that only PowerShell has."""
    return _START.match(text) is not None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.out: list[Word] = []
        self.statement: list[Word] = []
        self.word: list[str] | None = None
        self.assigned: tuple[str, bool, bool] | None = None
        """Name, whether it goes to the environment, whether it is added to what was there."""

    def read(self) -> list[Word]:
        while self.at < len(self.text):
            self.step()
        self.end_statement()
        return self.out

    def add(self, text: str) -> None:
        self.word = [*(self.word or []), text]

    def end_word(self) -> None:
        if self.word is not None:
            self.statement.append(Word("".join(self.word)))
        self.word = None

    def end_statement(self, operator: str = "") -> None:
        self.end_word()
        if self.assigned is not None:
            name, exported, more = self.assigned
            self.out += [Word("export")] if exported else []
            self.out.append(self._assignment(name, more))
        else:
            self.out += self.statement
        self.statement, self.assigned = [], None
        if operator:
            self.out.append(Word(operator, True))

    def _assignment(self, name: str, more: bool) -> Word:
        """One word; several values, with commas or in @( ), are an array."""
        values = [w for word in self.statement for w in (word.array if word.array is not None else (word,))]
        if len(values) == 1 and self.statement[0].array is None and not more:
            return Word(f"{name}={values[0].marked}")
        return Word(f"{name}{'+' if more else ''}=", array=tuple(values))

    def step(self) -> None:
        char = self.text[self.at]
        if self.word is None and self.skipped():
            return
        if not self.statement and self.word is None and self.assigned is None and self.starts_statement():
            return
        continuation = _CONTINUATION.match(self.text, self.at)
        if continuation:
            self.end_word()
            self.at = continuation.end()
        elif char == "`":
            following = self.text[self.at + 1:self.at + 2]
            self.add(_ESCAPES.get(following, following))
            self.at += 2
        elif char in _SINGLE:
            self.single()
        elif char in _DOUBLE:
            self.double()
        elif char == "$":
            self.at += self.variable()
        elif char == "@" and self.word is None:
            self.at_sign()
        else:
            self.separator(char)

    def skipped(self) -> bool:
        """Comments at the beginning of a word."""
        if self.text.startswith("<#", self.at):
            end = self.text.find("#>", self.at)
            self.at = len(self.text) if end < 0 else end + 2
        elif self.text[self.at] == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        else:
            return False
        return True

    def starts_statement(self) -> bool:
        prompt = _PROMPT.match(self.text, self.at)
        if prompt:
            self.at = prompt.end()
            return True
        match = _ASSIGNMENT.match(self.text, self.at)
        if match:
            self.assigned, self.at = (match[2], bool(match[1]), match[3] == "+="), match.end()
            return True
        if self.text[self.at] == "&" and not self.text.startswith("&&", self.at):
            self.at += 1
            return True
        return False

    def starts_process(self) -> bool:
        """Start-Process takes lists: a comma there is between words."""
        return bool(self.statement) and self.statement[0].marked.lower() == START_PROCESS

    def separator(self, char: str) -> None:
        if char in " \t" or (char == "," and (self.assigned is not None or self.starts_process())):
            self.end_word()
            self.at += 1
        elif char in "\r\n;|>" or self.text.startswith("&&", self.at):
            operator = re.compile(r"\r?\n|\r|\|\||\||&&|;|>>|>").match(self.text, self.at)
            assert operator is not None
            self.at = operator.end()
            if operator[0].startswith(">"):
                self.end_word()
                self.statement.append(Word(operator[0], True))
            else:
                self.end_statement("\n" if operator[0].strip() == "" else operator[0])
        else:
            self.add(char)
            self.at += 1

    def at_sign(self) -> None:
        """`@( … )` is an array, `@name` puts one in."""
        splat = _SPLAT.match(self.text, self.at)
        if splat:
            self.add(f"{BARE_DOLLAR}{{{splat[1]}[@]}}")
            self.at = splat.end()
        elif self.text.startswith("@(", self.at):
            inner = _Reader(self.text)
            inner.at, inner.assigned = self.at + 2, ("", False, False)
            while inner.at < len(self.text) and self.text[inner.at] != ")":
                if self.text[inner.at] in "\r\n":
                    inner.end_word()
                    inner.at += 1
                else:
                    inner.step()
            inner.end_word()
            self.at = inner.at + 1
            self.statement.append(Word("", array=tuple(inner.statement)))
        else:
            self.add("@")
            self.at += 1

    def variable(self) -> int:
        """Adds `$name` or `$env:NAME`, marked as one word (nothing is split here); the length of what was read."""
        match = _VARIABLE.match(self.text, self.at)
        self.add(f"{QUOTED_DOLLAR}{{{match[1]}}}" if match else "$")
        return len(match[0]) if match else 1

    def single(self) -> None:
        self.add("")
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            doubled = self.text[self.at + 1:self.at + 2]
            self.at += 1
            if char in _SINGLE:
                if not doubled or doubled not in _SINGLE:
                    return
                self.at += 1
            self.add(char)
        raise _open("'")

    def double(self) -> None:
        self.add("")
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            following = self.text[self.at + 1:self.at + 2]
            if char == "`" and following:
                self.add(_ESCAPES.get(following, following))
                self.at += 2
            elif char == "$":
                self.at += self.variable()
            elif char in _DOUBLE:
                self.at += 1
                if not following or following not in _DOUBLE:
                    return
                self.add(char)
                self.at += 1
            else:
                self.add(char)
                self.at += 1
        raise _open('"')


def _open(mark: str) -> AppError:
    return AppError(Text("The quotation mark {mark} is never closed.", mark=mark),
                    hint=Text("Close it, or put the mark itself into quotes of the other kind."))


def read_powershell(text: str) -> list[Word]:
    """The words and operators of a PowerShell script. AppError where a quotation mark is never closed."""
    return _Reader(text).read()
