"""Waiting for what a run does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from paddock.server import State
from paddock.server.model import Diagnosis
from paddock.work import Run
from paddock.work.watching import Watched


class Heard:
    """Set once the run is in one of these states."""

    def __init__(self, *states: State) -> None:
        self.ready = threading.Event()
        self._states = states or (State.READY,)

    def on_state(self, _run: object, state: State, _exit: object) -> None:
        if state in self._states:
            self.ready.set()

    def on_diagnosis(self, _run: object, _diagnosis: Diagnosis) -> None: ...


def wait(run: Run | Watched, seen: Callable[[], object], seconds: float = 60.0) -> None:
    """Until it is so; fails when the server ends, or when the time is over."""
    until = time.monotonic() + seconds
    while not seen():
        assert not run.join(0.05)
        assert time.monotonic() < until
