"""What a probe learns about a program that does not change until the file does, and its cache.

One small JSON file for each program, keyed by path, size and time of the program and of the libraries beside it (a
rebuilt engine may leave its 18 kB starter untouched and change only these). Devices and free memory are never kept.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from paddock.engine.model import EngineOption

_FORMAT = 3
_LIBRARIES = ("libllama", "libggml", "libmtmd", "llama", "ggml", "mtmd")


class Facts(msgspec.Struct, frozen=True):
    """The lasting part of an `Engine`. serve_arguments and tools are relative to the program's folder."""

    serve: tuple[str, ...]
    version: str | None
    build: int | None
    commit: str | None
    compiler: str | None
    subcommands: tuple[str, ...]
    options: tuple[EngineOption, ...]
    flags_verified: bool
    help_text: str
    environment: dict[str, str]


class _Entry(msgspec.Struct, frozen=True):
    format: int
    key: list[tuple[str, int, int]]
    facts: Facts


def load(folder: Path, program: Path) -> Facts | None:
    """The facts kept for this very file, or None: not kept, changed since, or unreadable."""
    try:
        entry = msgspec.json.decode(_file(folder, program).read_bytes(), type=_Entry)
        return entry.facts if entry.format == _FORMAT and entry.key == _key(program) else None
    except (OSError, msgspec.MsgspecError):
        return None


def save(folder: Path, program: Path, facts: Facts) -> None:
    """Keep the facts; a cache that cannot be written is done without."""
    target = _file(folder, program)
    draft = target.with_suffix(f".{os.getpid()}.tmp")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(msgspec.json.encode(_Entry(_FORMAT, _key(program), facts)))
        draft.replace(target)
    except OSError:
        draft.unlink(missing_ok=True) if draft.is_file() else None


def _file(folder: Path, program: Path) -> Path:
    return folder / f"engine-{hashlib.sha256(os.fsencode(program)).hexdigest()[:24]}.json"


def _key(program: Path) -> list[tuple[str, int, int]]:
    return [_stamp(program), *sorted(_libraries(program.resolve().parent))]


def _libraries(folder: Path) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_LIBRARIES) and (".so" in entry.name or entry.name.endswith((".dll", ".dylib"))):
                yield _stamp(Path(entry.path))


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return (str(path), -1, -1)
    return (str(path), stat.st_size, stat.st_mtime_ns)
