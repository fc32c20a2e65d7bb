"""Looks for llama.cpp in the places where it may be. Runs nothing: a candidate has yet to answer a probe."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from paddock.engine import packages, places
from paddock.engine.model import Candidate, Engine

_SCRIPT_BYTES = 4096


def find(
    *,
    settings_paths: Iterable[str | Path] = (),
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> list[Candidate]:
    """Every program that may be an engine, best first: settings, PATH, well-known places, our environment's packages.

    A path of the settings may be a program or a folder that holds one. One program reached on several ways is listed
    once, under the first. A path of the settings that leads nowhere is kept: its probe says what is wrong with it.
    """
    environ = os.environ if environ is None else environ
    home = Path.home() if home is None else home
    found: dict[Path, Candidate] = {}
    for candidate in _candidates(list(settings_paths), environ, home):
        found.setdefault(_identity(candidate.path), candidate)
    return list(found.values())


def default_engine(candidates: Iterable[Candidate], probe: Callable[[Candidate], Engine]) -> Engine | None:
    """The first candidate that answers its probe; the rest are not run."""
    return next((engine for candidate in candidates if (engine := probe(candidate)).error is None), None)


def _candidates(settings: list[str | Path], environ: Mapping[str, str], home: Path) -> Iterator[Candidate]:
    for given in settings:
        yield from (Candidate(path, "settings") for path in _named(Path(_unquoted(str(given))), home))
    for folder in _path_folders(environ):
        yield from _in(folder, "PATH")
    for folder, source in places.well_known(home, environ):
        yield from _in(folder, source)
    for folder in packages.folders():
        yield from _in(folder, "environment")


def _named(path: Path, home: Path) -> list[Path]:
    if path.parts[:1] == ("~",):
        path = home.joinpath(*path.parts[1:])
    if not path.is_dir():
        return [path]
    return list(places.inside(path))[:1] or [path]


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _path_folders(environ: Mapping[str, str]) -> Iterator[Path]:
    for part in environ.get("PATH", "").split(os.pathsep):
        if part.strip():
            yield Path(_unquoted(part))


def _in(folder: Path, source: str) -> Iterator[Candidate]:
    program = places.server_in(folder)
    if program and not _wraps_a_package(program):
        yield Candidate(program, source)


def _wraps_a_package(program: Path) -> bool:
    """A Python script that starts the program of an engine package: that program is found by itself."""
    try:
        with program.open("rb") as file:
            head = file.read(_SCRIPT_BYTES)
    except OSError:
        return False
    return head.startswith(b"#!") and any(name.encode() in head for name in packages.PACKAGES)


def _identity(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()
