"""Files that survive a crash: written whole or not at all, read with a reason when they are damaged."""

from __future__ import annotations

import codecs
import contextlib
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


def sweep(folder: Path, name: str = "*") -> None:
    """Take away what writes of `atomic_write` left that were killed. Only for who holds the folder's lock, so that no
    write is under way."""
    for left in folder.glob(f".{name}.*.tmp"):
        with contextlib.suppress(OSError):
            left.unlink()


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


def copy_aside(path: Path) -> Path:
    """Copy a damaged file to `<name>.broken-<time>`, never over another one; returns the copy. AppError."""
    head = f"{path.name}.broken-{stamp()}"
    for attempt in range(100):
        aside = path.with_name(head if attempt == 0 else f"{head}-{attempt}")
        if aside.exists():
            continue
        try:
            shutil.copyfile(path, aside)
        except OSError as error:
            raise _cannot_write(aside, error) from error
        return aside
    raise AppError(Text("“{path}” is damaged and could not be set aside.", path=path))


def decoded(data: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 with its mark (what some shells of Windows write); the mark is taken off."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return data[2:].decode(encoding, "replace")
    return data.decode("utf-8", "surrogateescape").removeprefix(_BOM)


def parse_toml(data: bytes, path: Path | str) -> dict[str, Any]:
    """The table in `data`; a byte order mark and CR LF are fine. AppError says what is wrong and in which line."""
    if not data.strip():
        raise AppError(Text("“{path}” is empty.", path=path))
    if not data.strip(b"\0"):
        raise AppError(Text("“{path}” holds only zero bytes.", path=path),
                       why=Text("The power may have failed while it was written."))
    text = decoded(data)
    _refuse_foreign(text, path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last = f"at the end, line {text.count(chr(10)) + 1}"
        raise AppError(Text("“{path}” is not valid TOML.", path=path),
                       why=str(error).replace("at end of document", last),
                       hint=Text("It seems to end too early: get it again.") if _cut(text, error) else None) from error
    except RecursionError as error:
        raise AppError(Text("“{path}” is not valid TOML.", path=path),
                       why=Text("It is nested too deeply.")) from error


def _refuse_foreign(text: str, path: Path | str) -> None:
    """What is no TOML at all, by its first characters."""
    head = text.lstrip()[:200].lower()
    if head.startswith(("<!doctype", "<html", "<?xml", "<head", "<body", "<!--")):
        raise AppError(Text("“{path}” is a web page, not a TOML file.", path=path),
                       hint=Text("Download the file itself, not the page that shows it."))
    if head.startswith("{"):
        raise AppError(Text("“{path}” is a JSON file, not a TOML file.", path=path))
    if "\0" in text:
        at = text.index("\0")
        raise AppError(Text("“{path}” holds bytes that belong to no text, from line {line} on.", path=path,
                            line=text.count("\n", 0, at) + 1),
                       why=Text("It is another kind of file, or it was not written to its end."))


def _cut(text: str, error: tomllib.TOMLDecodeError) -> bool:
    """Whether what is wrong is the end."""
    return "end of document" in str(error) or f"line {text.count(chr(10)) + 1}," in str(error)


def toml_bytes(table: dict[str, Any]) -> bytes:
    """The table as TOML. AppError for text that no file can hold (half a surrogate pair)."""
    try:
        return tomli_w.dumps(table).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise AppError(Text("A text holds characters that cannot be saved."), why=str(error)) from error
