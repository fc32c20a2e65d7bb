"""Looks every few seconds whether model files came or went, while somebody can see the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QWidget

from paddock.desktop import bridge

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_EVERY_MS = 8000


class Watcher(QObject):
    """Scans again when something changed. `page`: nothing is looked at while it is hidden or minimised."""

    def __init__(self, desk: Desk, page: QWidget) -> None:
        super().__init__(page)
        self._desk, self._page = desk, page
        self._known: str | None = None
        self._job: bridge.Job | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY_MS)
        self._timer.timeout.connect(self.look)
        desk.scanStarted.connect(self._scan_started)

    def start(self) -> None:
        """The page is seen: look now and then from here on."""
        self._timer.start()
        self.look()

    def stop(self) -> None:
        self._timer.stop()
        if self._job is not None:
            self._job.cancel()
            self._job = None

    @Slot()
    def look(self) -> None:
        """In a worker; one look at a time, none during a scan."""
        scanning = self._desk.scan_job is not None and self._desk.scan_job.running
        busy = self._job is not None and self._job.running
        if self._desk.entries is None or scanning or busy or self._page.window().isMinimized():
            return
        job = self._job = bridge.Job("watch")
        bridge.run(lambda: self._desk.workspace.library_stamp(job.cancelled), self._looked, None, self, name="watch",
                   job=job)

    def _looked(self, found: str | None) -> None:
        before, self._known = self._known, found
        if found is not None and before is not None and found != before:
            self._desk.scan()

    @Slot()
    def _scan_started(self) -> None:
        """What changes from now on may or may not be in its result: the state after it is the new ground."""
        if self._job is not None:
            self._job.cancel()
