"""A listener of runs that can be waited for."""

from __future__ import annotations

import threading

from paddock.server import State
from paddock.server.model import Diagnosis


class Heard:
    """Set once the run is in one of these states."""

    def __init__(self, *states: State) -> None:
        self.ready = threading.Event()
        self._states = states or (State.READY,)

    def on_state(self, _run: object, state: State, _exit: object) -> None:
        if state in self._states:
            self.ready.set()

    def on_diagnosis(self, _run: object, _diagnosis: Diagnosis) -> None: ...
