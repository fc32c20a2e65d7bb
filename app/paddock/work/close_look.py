"""Readings of the machine ten times a second, while somebody looks closely. Kept with the session where one asks."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.hardware import Readings
from paddock.session import Series
from paddock.session.columns import reading_columns

if TYPE_CHECKING:
    from paddock.hardware import Machine, Reading

EVERY_S = 0.1
_KEPT = 36_000
"""An hour."""


class CloseLook:
    """One thread that reads from `start` until `stop`. `series` and `latest` may be read from any thread.

    Times of the series are seconds since the start of the look.
    """

    def __init__(self, machine: Machine, pids: Callable[[], Iterable[int]], files: Sequence[Path] = (),
                 make: Callable[..., Readings] = Readings) -> None:
        """`files`: the model's, for its part in the page cache."""
        self._machine, self._pids, self._files, self._make = machine, pids, files, make
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="close-look", daemon=True)
        self.series = Series(_KEPT)
        self.latest: Reading | None = None
        self.readings: deque[Reading] = deque(maxlen=_KEPT)
        """All of them, the newest last, without the host's pressure; to be read when it has stopped."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when the thread is gone, at most a reading later."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join(5)

    def _run(self) -> None:
        readings = self._make(self._machine, self._pids, files=self._files)
        begin = due = time.monotonic()
        try:
            while not self._over.is_set():
                self.latest = readings.read()
                self.readings.append(replace(self.latest, pressure=None))
                self.series.append(time.monotonic() - begin, reading_columns(self.latest))
                # Absolute: a reading that took long does not shift the ones after it.
                due = max(due + EVERY_S, time.monotonic())
                self._over.wait(due - time.monotonic())
        finally:
            readings.close()
