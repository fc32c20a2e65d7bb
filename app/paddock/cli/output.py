"""How the command line speaks: JSON on stdout, or tables for people; sentences and failures on stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from paddock.errors import AppError
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.launch import Plan
    from paddock.store import Profile


def prepare_streams() -> None:
    """Closed streams lead nowhere, and a character that a stream cannot hold is written as an escape."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - lives as long as the program
            if stream.fileno() != number:
                os.dup2(stream.fileno(), number)  # no file opened later may take the place of a standard stream
            setattr(sys, name, stream)
        elif number and hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """Nobody reads it any more, or it cannot be written: what is still in the buffer goes nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def document(value: Any) -> None:
    """One JSON document on stdout; all ASCII where stdout is not Unicode, or a name in it is not (half a pair)."""
    value = _finite(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    encoding = sys.stdout.encoding or "ascii"
    if not encoding.lower().startswith("utf") or re.search("[\ud800-\udfff]", text):
        text = json.dumps(value, default=str)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null, as everything that is not known."""
    try:
        json.dumps(value, allow_nan=False, default=str)
    except ValueError:
        if isinstance(value, dict):
            return {key: _finite(item) for key, item in value.items()}
        return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else None
    return value


def line(text: Text | str) -> None:
    """A sentence for people on stdout."""
    sys.stdout.write(f"{text}\n")


def note(text: Text | str) -> None:
    """A sentence beside the answer, on stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def in_words(name: str | None) -> str:
    """The word for people of a severity or a state, which JSON gives as it is; a new one stays as it is."""
    from paddock.report.words import in_words as words  # its room takes a while to import

    return words(name)


def told(found: tuple[Plan, Profile | None]) -> tuple[Plan, Profile | None]:
    """What `Workspace.resolve` gave, after saying what opening the profile took (a file found again, old flags)."""
    for text in found[1].notices if found[1] is not None else ():
        note(text)
    return found


def fail(error: AppError, as_json: bool, code: int = 1) -> int:
    """The failure in its two forms; returns the exit code."""
    if as_json:
        document({"error": {"what": str(error.what), "why": str(error.why) if error.why else None,
                            "hint": str(error.hint) if error.hint else None}})
    note(str(error))
    return code


def table(headers: Sequence[Text | str], rows: Iterable[Sequence[Any]], right: Sequence[int] = ()) -> None:
    """A plain table, cut to the width of the terminal only where there is one."""
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False, markup=False, emoji=False)
    out = Table(box=None, pad_edge=False, header_style="bold")
    for i, header in enumerate(headers):
        out.add_column(str(header), justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        out.add_row(*(str(c) if c is not None else "n/a" for c in row))
    console.print(out)


def facts(rows: Iterable[tuple[Text | str, Any]]) -> None:
    """Name and value, one a line."""
    told = [(str(name), value) for name, value in rows if value is not None]
    width = max((len(name) for name, _ in told), default=0)
    for name, value in told:
        line(f"{name:<{width}}  {value}")
