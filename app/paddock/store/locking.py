"""One writer at a time in a folder, over all Paddocks that use it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paddock.errors import AppError
from paddock.text import Text

WAIT_S = 10.0
_PAUSE_S = 0.01

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(folder: Path, wait_s: float = WAIT_S) -> Iterator[bool]:
    """Hold the folder's lock; the system lets go of it when a process dies. Not to be taken twice by one thread.

    Gives False where there can be no lock (a folder that cannot be written, a file system without locks): what is
    then written is still whole, and a folder that cannot be written says so at the write. AppError when somebody
    else holds it for more than `wait_s` seconds.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        yield False
        return
    try:
        yield _wait(handle, folder, wait_s)
    finally:
        os.close(handle)


def _wait(handle: int, folder: Path, wait_s: float) -> bool:
    end = time.monotonic() + wait_s
    while True:
        try:
            _take(handle)
        except (BlockingIOError, PermissionError) as error:
            if time.monotonic() >= end:
                raise AppError(Text("Another Paddock has been writing in “{folder}” for {seconds} seconds.",
                                    folder=folder, seconds=round(wait_s)),
                               hint=Text("Wait for it, or end it, and try again.")) from error
            time.sleep(_PAUSE_S)
        except OSError:
            return False
        else:
            return True
