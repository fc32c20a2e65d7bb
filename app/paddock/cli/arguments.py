"""Options that are taken before or after any subcommand."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from paddock.text import Text

if TYPE_CHECKING:
    from paddock.work import Workspace


@dataclass
class Globals:
    """--data-dir, --engine, --json."""

    data_dir: str | None = None
    engine: str | None = None
    json: bool = False

    def workspace(self) -> Workspace:
        """What these options name; what was found damaged in its folder and set aside is said on stderr."""
        from paddock.cli.output import note
        from paddock.work import Workspace

        return Workspace(self.data_dir, self.engine, tell=note)


def split_globals(args: Sequence[str]) -> tuple[list[str], Globals]:
    """Take the global options out, wherever they stand before a `--`; what follows `--` belongs to llama-server.

    Raises click.UsageError where one of them has no value.
    """
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
            if not taken:
                raise click.UsageError(str(Text("{option} needs a value.", option=name)))
            if name == "--data-dir":
                found.data_dir = taken
            else:
                found.engine = taken
        else:
            rest.append(word)
    return rest, found


class Seconds(click.FloatRange):
    """A finite number of seconds, not negative, at most `most`."""

    def __init__(self, most: float | None = None) -> None:
        super().__init__(0, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """click's own, and no NaN or infinity: nothing would ever end."""
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(str(Text("“{text}” is not a number of seconds.", text=value)), param, ctx)
        return seconds


def reached(command: Callable[..., Any]) -> Callable[..., Any]:
    """--key and --insecure, for a command that asks a server which runs already."""
    key = click.option("--key", default=None,
                       help="The server's API key, or a reference: env:NAME, file:PATH, keyring:NAME.")
    insecure = click.option("--insecure", is_flag=True, help="Take any TLS certificate.")
    return key(insecure(command))


def secret(key: str | None) -> str | None:
    """What --key names. AppError where a reference leads nowhere."""
    from paddock.store import resolve_secret

    return resolve_secret(key, os.environ) if key else None
