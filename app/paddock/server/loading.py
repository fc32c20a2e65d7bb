"""How far the load is: an estimate, since the server says nothing while it loads.

What a process has read of its model is seen in two ways, and the larger counts: bytes through read calls (`rchar` of
/proc/PID/io: --load-mode none, direct I/O), and file pages that it has mapped and touched (shared resident memory:
mmap). Both count from the first measurement on, which is made when the server first says that it is loading: what it
had before are its own libraries. Reading is not all of loading (repacking, warm-up), so the fraction stays below 1
until the server is ready.
"""

from __future__ import annotations

from collections.abc import Callable

import psutil

from paddock.server import port
from paddock.server.model import Progress

_TREE_S = 1.0
_NOT_YET = 0.99


class LoadMeter:
    """Measures one process and its children. model_bytes None or 0: the fraction is unknown. `start`: of the launch."""

    def __init__(self, pid: int, model_bytes: int | None, clock: Callable[[], float], start: float) -> None:
        self._pid, self._model_bytes, self._clock, self._start = pid, model_bytes, clock, start
        self._tree: list[psutil.Process] = []
        self._tree_at = float("-inf")
        self._before: dict[int, tuple[int, int]] = {}
        self._best = 0.0

    def measure(self) -> Progress:
        """Now. The fraction never goes back."""
        now = self._clock()
        if now - self._tree_at >= _TREE_S:
            self._tree, self._tree_at = port.tree(self._pid), now
        reads = [read for process in self._tree if (read := self._read_since(process)) is not None]
        read = max(reads) if reads else None
        if read is None or not self._model_bytes:
            return Progress(None, now - self._start, read)
        self._best = max(self._best, min(read / self._model_bytes, _NOT_YET))
        return Progress(self._best, now - self._start, read)

    def _read_since(self, process: psutil.Process) -> int | None:
        mapped, called = _mapped_bytes(process), _called_bytes(process)
        if mapped is None and called is None:
            return None
        before = self._before.setdefault(process.pid, (mapped or 0, called or 0))
        return max((mapped or 0) - before[0], (called or 0) - before[1], 0)


def _mapped_bytes(process: psutil.Process) -> int | None:
    try:
        return int(process.memory_info().shared)
    except (psutil.Error, OSError, AttributeError):
        return None  # AttributeError: not on this platform


def _called_bytes(process: psutil.Process) -> int | None:
    try:
        counters = process.io_counters()
        return int(getattr(counters, "read_chars", counters.read_bytes))
    except (psutil.Error, OSError, AttributeError):
        return None
