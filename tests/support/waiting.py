"""Waiting for what another process does, where nothing tells of it."""

from __future__ import annotations

import time
from collections.abc import Callable


def waited(seen: Callable[[], object], seconds: float = 60.0, often_s: float = 0.02) -> bool:
    """Whether it was so before the time was over; looks every `often_s`."""
    until = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > until:
            return bool(seen())
        time.sleep(often_s)
    return True
