"""From a path to one file's header: what can go wrong before the first byte, and the first bytes."""

from __future__ import annotations

import contextlib
import os
import stat
from io import FileIO
from pathlib import Path

from paddock.errors import AppError
from paddock.gguf.foreign import check_start
from paddock.gguf.header import Header, read_header
from paddock.gguf.window import Source, Window
from paddock.text import Text

_START = 64 << 10


def open_header(path: Path) -> Header:
    """The header of one file; AppError if there is none, in words."""
    if not can_be_a_name(path):
        raise _unreadable(path, FileNotFoundError())
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _not_a_file(path, status)
        with path.open("rb", buffering=0) as file:
            no_read_ahead(file)
            return header_of(file, status.st_size, path, status.st_mtime_ns)
    except OSError as error:
        raise _unreadable(path, error) from error


def no_read_ahead(file: FileIO) -> None:
    """Of a model little is read, in large pieces: what the system would fetch behind them costs more than they do."""
    if hasattr(os, "posix_fadvise"):
        with contextlib.suppress(OSError):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)


def can_be_a_name(path: Path) -> bool:
    """No file is called so: a NUL in it, or half of a character pair."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def header_of(source: Source, size: int, path: Path, mtime_ns: int = 0) -> Header:
    """The header at the start of anything that can be read like a file. AppError if there is none, in words."""
    start = source.read(min(_START, size)) or b""
    version, big_endian = check_start(start, size, path)
    window = Window(source, size, start)
    window.skip(8)
    return read_header(window, path, mtime_ns, version, big_endian)


def _not_a_file(path: Path, status: os.stat_result) -> AppError:
    if stat.S_ISDIR(status.st_mode):
        return AppError(Text("“{name}” is a folder.", name=path.name or str(path.absolute())),
                        hint=Text("Choose a GGUF file in it."))
    return AppError(Text("“{name}” is not an ordinary file.", name=path.name))


def _unreadable(path: Path, error: OSError) -> AppError:
    if isinstance(error, FileNotFoundError):
        if can_be_a_name(path) and path.is_symlink():
            return AppError(Text("“{name}” is a link whose target is missing.", name=path.name),
                            why=Text("It points to {target}.", target=os.readlink(path)),
                            hint=Text("Download the model again, or remove the link."))
        return AppError(Text("There is no file “{path}”.", path=str(path)))
    if isinstance(error, PermissionError):
        return AppError(Text("“{name}” may not be read.", name=path.name), why=str(error.strerror),
                        hint=Text("Check who owns the file and its permissions."))
    return AppError(Text("“{name}” cannot be read.", name=path.name), why=str(error.strerror or error),
                    hint=Text("Check the disk, or the connection to it."))
