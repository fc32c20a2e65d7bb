"""How far the load is: an estimate, since the server says nothing while it loads.

What a process has read of its model is seen in two ways, and the larger counts: bytes through read calls (`rchar` of
/proc/PID/io: --load-mode none, direct I/O), and file pages that it has mapped and touched (shared resident memory:
mmap). Both are compared with their value at the start. Reading is not all of loading (repacking, warm-up), so the
fraction stays below 1 until the server is ready.
"""

from __future__ import annotations

from collections.abc import Callable

import psutil

from paddock.server import port
from paddock.server.model import Progress

_TREE_S = 1.0
_NOT_YET = 0.99


class LoadMeter:
    """Measures one process and its children. model_bytes None or 0: the fraction is unknown."""

    def __init__(self, pid: int, model_bytes: int | None, clock: Callable[[], float]) -> None:
        self._pid, self._model_bytes, self._clock = pid, model_bytes, clock
        self._start = clock()
        self._tree: list[psutil.Process] = []
        self._tree_at = float("-inf")
        self._best = 0.0

    def measure(self) -> Progress:
        """Now. The fraction never goes back."""
        now = self._clock()
        if now - self._tree_at >= _TREE_S:
            self._tree, self._tree_at = port.tree(self._pid), now
        seen = [amount for process in self._tree if (amount := _read_bytes(process)) is not None]
        read = max(seen) if seen else None
        if read is None or not self._model_bytes:
            return Progress(None, now - self._start, read)
        self._best = max(self._best, min(read / self._model_bytes, _NOT_YET))
        return Progress(self._best, now - self._start, read)


def _read_bytes(process: psutil.Process) -> int | None:
    amounts = []
    try:
        amounts.append(int(process.memory_info().shared))
    except (psutil.Error, OSError, AttributeError):
        pass  # AttributeError: not on this platform
    try:
        counters = process.io_counters()
        amounts.append(int(getattr(counters, "read_chars", counters.read_bytes)))
    except (psutil.Error, OSError, AttributeError):
        pass
    return max(amounts) if amounts else None
