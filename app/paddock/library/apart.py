"""A second process that reads headers into the cache, while this one reads too.

Reading a header is work for the interpreter, and threads of one process share it. `python -m paddock.library.apart
FOLDER` takes names from its input, each ended by a zero byte, keeps what it reads in the header cache of FOLDER, and
answers a dot for each, read or not: this process then finds the model in the cache, or reads it itself.
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from paddock import gguf
from paddock.errors import AppError

AHEAD = 8
"""Names that lie before the second process, so that it never waits for the first."""
_CHUNK = 65_536


class Apart:
    """The second process. `ask` and `answered` from one thread; `end` from any, which ends a waiting `answered` too."""

    def __init__(self, folder: Path) -> None:
        """OSError where it cannot be started."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "paddock.library.apart", str(folder)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0))

    def ask(self, path: Path) -> None:
        """OSError where it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(os.fsencode(path) + b"\0")

    def answered(self) -> int:
        """How many more names are done; waits for at least one. 0: it has ended."""
        assert self._process.stdout is not None
        return len(self._process.stdout.read(AHEAD) or b"")

    def end(self) -> None:
        """A process that hangs in a dead drive is left to the system, which ends it when the drive answers."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def apart_for(folder: Path) -> Callable[[], Apart] | None:
    """How to start one that fills this cache; None in a bundle, whose program is no Python."""
    return None if getattr(sys, "frozen", False) else lambda: Apart(folder)


def serve(folder: Path) -> None:
    """Until the input ends."""
    gc.disable()  # nothing here is cyclic, and it looks again and again at all that a header consists of
    cache = gguf.HeaderCache(folder)
    rest = b""
    while chunk := os.read(0, _CHUNK):
        *names, rest = (rest + chunk).split(b"\0")
        for name in names:
            with contextlib.suppress(AppError, OSError):
                gguf.read(os.fsdecode(name), cache=cache)
            os.write(1, b".")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        serve(Path(sys.argv[1]))
