"""Variables that a pasted text assigns itself, put in where it uses them, as a shell would."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paddock.launch.words import BARE_DOLLAR, QUOTED_DOLLAR, Word, plain

_USE = re.compile(rf"[{QUOTED_DOLLAR}{BARE_DOLLAR}](?:\{{([A-Za-z_]\w*)(\[[@*]\])?\}}|([A-Za-z_]\w*))")


@dataclass
class Variables:
    """What was assigned so far: a text, or the words of an array."""

    texts: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, tuple[str, ...]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    """Names whose value was put in somewhere."""

    def take(self, word: Word) -> bool:
        """Keeps an array; False for any other word."""
        if word.array is None:
            return False
        name, more = re.sub(r"\+?=$", "", word.text), word.text.endswith("+=")
        before = self.arrays.get(name, ()) if more else ()
        self.arrays[name] = (*before, *(text for inner in word.array for text in self.words(inner.marked)))
        return True

    def words(self, marked: str) -> tuple[str, ...]:
        """What becomes of one word: several words for an array, or for a bare variable with spaces in it."""
        whole = _USE.fullmatch(marked)
        if whole:
            name = whole[1] or whole[3]
            if name in self.arrays:
                self.used.add(name)
                return self.arrays[name]
            if name in self.texts and marked[0] == BARE_DOLLAR:
                self.used.add(name)
                return tuple(self.texts[name].split())
        return (plain(_USE.sub(self._value, marked)),)

    def _value(self, match: re.Match[str]) -> str:
        name = match[1] or match[3]
        if name not in self.texts or match[2]:
            return match[0]
        self.used.add(name)
        return self.texts[name]


def expanded(words: Sequence[Word], variables: Variables) -> list[str]:
    """All words of a statement, operators left out."""
    return [text for word in words if not word.operator for text in variables.words(word.marked)]


def only_used(names: Mapping[str, str], variables: Variables, exported: set[str]) -> set[str]:
    """Names that were assigned for the text's own use: put in somewhere and never exported."""
    return {name for name in names if name in variables.used and name not in exported}
