"""What a tree of processes uses: processor time as a rate, resident memory."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import psutil

_CHILDREN_EVERY_S = 2.0
"""Looking for children reads the whole process table."""


@dataclass(frozen=True)
class TreeUse:
    """cpu_pct in percent of one core since the reading before (NaN at the first); rss_bytes NaN where none lives."""

    cpu_pct: float
    rss_bytes: float
    pids: frozenset[int]
    age_s: float = 0.0
    """How long the oldest of them has run; 0 where none lives."""


def _age_s(process: psutil.Process) -> float:
    if sys.platform == "linux":
        # exact to a hundredth: both count from the start of the system, whose own time psutil knows to a second only
        return time.clock_gettime(time.CLOCK_BOOTTIME) - (process.create_time() - psutil.boot_time())
    return time.time() - process.create_time()


class ProcessTree:
    """The processes below some roots, followed from reading to reading. One reader at a time."""

    def __init__(self, roots: Callable[[], Iterable[int]], clock: Callable[[], float]) -> None:
        self._roots = roots
        self._clock = clock
        self._processes: dict[int, psutil.Process] = {}
        self._looked_at = -math.inf
        self._roots_seen: frozenset[int] = frozenset()
        self._cpu_s: dict[tuple[int, float], float] = {}
        self._read_at = -math.inf

    def read(self) -> TreeUse:
        now = self._clock()
        self._follow(now)
        cpu_s: dict[tuple[int, float], float] = {}
        rss, age_s = 0, 0.0
        for pid, process in list(self._processes.items()):
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    cpu_s[pid, process.create_time()] = times.user + times.system
                    age_s = max(age_s, _age_s(process))
                    rss += process.memory_info().rss
            except (psutil.Error, OSError):
                del self._processes[pid]
        spent = [total - self._cpu_s[key] for key, total in cpu_s.items() if key in self._cpu_s]
        elapsed = now - self._read_at
        self._cpu_s, self._read_at = cpu_s, now
        return TreeUse(
            cpu_pct=100 * sum(spent) / elapsed if spent and elapsed > 0 else math.nan,
            rss_bytes=float(rss) if cpu_s else math.nan,
            pids=frozenset(self._processes),
            age_s=age_s,
        )

    def _follow(self, now: float) -> None:
        roots = frozenset(self._roots())
        if roots == self._roots_seen and now - self._looked_at < _CHILDREN_EVERY_S:
            return
        self._looked_at, self._roots_seen = now, roots
        found: dict[int, psutil.Process] = {}
        for pid in roots:
            try:
                root = psutil.Process(pid)
                family = [root, *root.children(recursive=True)]
            except (psutil.Error, OSError, ValueError):
                continue
            found |= {one.pid: one for one in family}
        self._processes = found
