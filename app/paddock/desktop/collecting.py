"""Python's cyclic garbage is collected in the GUI thread alone.

The collector runs in whichever thread happens to allocate. A widget that dies in a worker thread holds one of Qt's
locks while it waits for the interpreter, which the GUI thread may hold while it waits for that lock: the window then
hangs for good. So the collector is off while there are worker threads, and a timer does its work.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer, Slot

_LOOK_MS = 250


class Collector(QObject):
    """`start` and `stop` in the GUI thread; each may be called again."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self.look)

    def start(self) -> None:
        if not self._timer.isActive():
            gc.disable()
            self._timer.start()

    def stop(self) -> None:
        """The collector is on again; only where no other thread uses the window's objects any more."""
        if self._timer.isActive():
            self._timer.stop()
            gc.enable()

    @Slot()
    def look(self) -> None:
        """Collect what the collector itself would have: the same generations at the same counts."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):  # an older one takes the younger ones along
            if counts[generation] > thresholds[generation]:
                gc.collect(generation)
                break
