"""Counters that only grow, as rates: two readings make one figure."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

_LEAST_S = 0.2
"""Closer readings say more about the clock than about the counter: the figure before is given again."""


class Rates:
    """The rate of each counter between its last two readings. For one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before: dict[Hashable, tuple[float, int]] = {}
        self._last: dict[Hashable, float] = {}

    def per_s(self, key: Hashable, count: int | None) -> float | None:
        """Counts a second; None at the first reading, where nothing was read, and where the counter began anew."""
        now = self._clock()
        if count is None:
            self._before.pop(key, None)
            self._last.pop(key, None)
            return None
        before = self._before.get(key)
        if before is not None and now - before[0] < _LEAST_S:
            return self._last.get(key)
        self._before[key] = (now, count)
        if before is None or count < before[1]:
            self._last.pop(key, None)
            return None
        self._last[key] = (count - before[1]) / (now - before[0])
        return self._last[key]
