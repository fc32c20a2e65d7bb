"""Files that survive a crash: written whole or not at all, read with a reason when they are damaged."""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from paddock.errors import AppError
from paddock.text import Text

BACKUP = ".bak"
_BOM = "\ufeff"


def atomic_write(path: Path, data: bytes, *, backup: bool = True) -> None:
    """Write `data` so that `path` holds the old or the new content at any moment, also after a power cut.

    A temporary file in the same folder is flushed to disk, then takes the name; the folder is flushed too. The
    previous content, unless empty or full of zero bytes, stays beside it as `<name>.bak`. Links are followed.
    AppError when the folder cannot be written or the disk is full; the old file is then untouched.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
            if backup:
                _back_up(target)
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> AppError:
    return AppError(Text("“{path}” could not be written.", path=path), why=error.strerror or str(error),
                    hint=Text("Check free space and permissions, or choose another folder with --data-dir."))


def _back_up(target: Path) -> None:
    old = target.read_bytes()
    if old.strip(b"\0 \r\n\t"):
        atomic_write(target.with_name(target.name + BACKUP), old, backup=False)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def stamp() -> str:
    """Now, for file names: 20260131-235959 (UTC)."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S")


def set_aside(path: Path) -> Path:
    """Rename a damaged file to `<name>.broken-<time>`, never over another one; returns the new path."""
    head = f"{path.name}.broken-{stamp()}"
    for attempt in range(100):
        aside = path.with_name(head if attempt == 0 else f"{head}-{attempt}")
        if not aside.exists():
            path.rename(aside)
            return aside
    raise AppError(Text("“{path}” is damaged and could not be set aside.", path=path))


def parse_toml(data: bytes, path: Path | str) -> dict[str, Any]:
    """The table in `data`; a byte order mark and CR LF are fine. AppError says what is wrong and in which line."""
    if not data.strip():
        raise AppError(Text("“{path}” is empty.", path=path))
    if not data.strip(b"\0"):
        raise AppError(Text("“{path}” holds only zero bytes.", path=path),
                       why=Text("The power may have failed while it was written."))
    text = data.decode("utf-8", "surrogateescape").removeprefix(_BOM)
    head = text.lstrip()[:20].lower()
    if head.startswith(("<!doctype", "<html")):
        raise AppError(Text("“{path}” is a web page, not a TOML file.", path=path),
                       hint=Text("Download the file itself, not the page that shows it."))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AppError(Text("“{path}” is not valid TOML.", path=path), why=str(error)) from error


def toml_bytes(table: dict[str, Any]) -> bytes:
    """The table as TOML. AppError for text that no file can hold (half a surrogate pair)."""
    try:
        return tomli_w.dumps(table).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise AppError(Text("A text holds characters that cannot be saved."), why=str(error)) from error
