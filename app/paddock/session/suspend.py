"""Whether the computer was suspended: a device's driver may not have survived it, and no figure spans it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

LEAST_S = 5.0 if sys.platform == "linux" else 30.0
"""A jump of less is no suspend. Elsewhere than on Linux the wall clock tells, which may be set, too."""


def ahead_s() -> float:
    """Seconds by which a clock that runs on while the computer is suspended is ahead of time.monotonic."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.time() - time.monotonic()


class SuspendWatch:
    """Asked now and then, says how long the computer was suspended since it was last asked."""

    def __init__(self, ahead: Callable[[], float] = ahead_s) -> None:
        self._ahead = ahead
        self._last = ahead()

    def slept_s(self) -> float:
        """0 where it was not suspended."""
        last, self._last = self._last, self._ahead()
        jump = self._last - last
        return jump if jump >= LEAST_S else 0.0
