"""Why it failed: the log's lines and the exit code against the rows of `rules`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

from paddock.server import exits
from paddock.server.lines import level_of
from paddock.server.model import Diagnosis
from paddock.server.rules import RULES, Edits, Rule
from paddock.text import Text

_NEEDLES = tuple((needle, rule) for rule in RULES for needle in rule.needles)
_QUIET = frozenset("ID")
"""Levels on which nothing that is diagnosed is printed."""


def match(text: str) -> tuple[Rule, Diagnosis] | None:
    """The row that a line belongs to, its texts filled; None for almost every line."""
    for needle, rule in _NEEDLES:
        if needle not in text:
            continue
        values: Mapping[str, str] = {}
        if rule.pattern is not None:
            found = rule.pattern.search(text)
            if found is None:
                continue
            values = {name: value or "" for name, value in found.groupdict().items()}
        return rule, Diagnosis(rule.id, _filled(rule.cause, values), _filled(rule.advice, values), text,
                               _edits(rule.edits, values), rule.fatal)
    return None


def _filled(text: Text, values: Mapping[str, str]) -> Text:
    """The same sentence with its values; the template itself stays a literal where it was written."""
    if not values:
        return text
    filled = copy.copy(text)
    filled.values = dict(values)
    return filled


def _edits(edits: Edits, values: Mapping[str, str]) -> Edits:
    return tuple((name, None if given is None else tuple(each.format(**values) for each in given))
                 for name, given in edits)


def worth_feeding(text: str) -> bool:
    """Whether anything in this text, of many lines, can be a row's: far cheaper than asking for each line."""
    return any(needle in text for needle, _ in _NEEDLES)


class RunningDiagnoser:
    """Fed line by line while a server runs. Bounded: it keeps at most one finding for each row."""

    def __init__(self) -> None:
        self._fatal: dict[int, Diagnosis] = {}
        self._notices: tuple[Diagnosis, ...] = ()
        self._blank = True

    def feed(self, text: str, level: str | None = None) -> Diagnosis | None:
        """A finding that this line is the first to bring, fatal or not; None otherwise."""
        self.spoke(text)
        found = match(text) if level not in _QUIET else None
        if found is None:
            return None
        rule, diagnosis = found
        if rule.fatal:
            if rule.rank in self._fatal:
                return None
            self._fatal[rule.rank] = diagnosis
            return diagnosis
        if any(known.id == rule.id for known in self._notices):
            return None
        self._notices = (*self._notices, diagnosis)
        return diagnosis

    def spoke(self, text: str) -> None:
        """It printed this, which needs no look."""
        if self._blank and text.strip():
            self._blank = False

    @property
    def notices(self) -> tuple[Diagnosis, ...]:
        """What was found that it serves on with, in order."""
        return self._notices

    def conclude(self, code: int | None) -> Diagnosis | None:
        """Why it ended, given its exit code as Popen gives it; None when nothing tells.

        The first specific line wins; the line of evidence before it (the file that could not be opened) is the one
        shown. Without such a line the exit code speaks; without that, the first general line.
        """
        named, evidence = self._fatal.get(0), self._fatal.get(1)
        if named is not None:
            if evidence is not None and evidence.line is not None:
                return Diagnosis(named.id, named.cause, named.advice, evidence.line, named.edits, named.fatal)
            return named
        return evidence or exits.diagnosis(code, silent=self._blank) or self._fatal.get(2)


def diagnose(lines: Iterable[str], code: int | None) -> Diagnosis | None:
    """Why a server with these lines and this exit code failed; None when nothing tells."""
    running = RunningDiagnoser()
    for line in lines:
        running.feed(line, level_of(line))
    return running.conclude(code)
