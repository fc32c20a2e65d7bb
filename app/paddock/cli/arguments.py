"""Options that are taken before or after any subcommand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Globals:
    """--data-dir, --engine, --json."""

    data_dir: str | None = None
    engine: str | None = None
    json: bool = False


def split_globals(args: Sequence[str]) -> tuple[list[str], Globals]:
    """Take the global options out, wherever they stand before a `--`; what follows `--` belongs to llama-server."""
    rest: list[str] = []
    found = Globals()
    words = iter(args)
    for word in words:
        if word == "--":
            return [*rest, word, *words], found
        name, equals, value = word.partition("=")
        if word == "--json":
            found.json = True
        elif name in ("--data-dir", "--engine"):
            taken = value if equals else next(words, None)
            if taken is None:
                rest.append(word)  # click says what is missing
            elif name == "--data-dir":
                found.data_dir = taken
            else:
                found.engine = taken
        else:
            rest.append(word)
    return rest, found
