"""Downloads under way: one at a time, the others wait their turn; they outlive the page, not the program."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Signal, Slot

from paddock.desktop import bridge
from paddock.errors import AppError
from paddock.library.hub import Download, OfflineError, Paused

_SPAN_S = 8.0


class Phase(Enum):
    """Where a download stands."""

    WAITING = "waiting"
    """Its turn has not come."""
    LOADING = "loading"
    PAUSING = "pausing"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"


class Transfer:
    """One download as the window sees it. Figures are written by the worker and read by a timer."""

    def __init__(self, name: str, make: Callable[[], Download], total_bytes: int, done_bytes: int = 0,
                 phase: Phase = Phase.WAITING, part: Path | None = None) -> None:
        self.name, self.make, self.part = name, make, part
        self.phase = phase
        self.total_bytes, self.done_bytes = total_bytes, done_bytes
        self.what = ""
        self.error: AppError | None = None
        self.download: Download | None = None
        self.paths: list[Path] = []
        self.stop = threading.Event()
        self.drop = False
        self._past: list[tuple[float, int]] = []

    @property
    def offline(self) -> bool:
        return isinstance(self.error, OfflineError)

    def tell(self, done: int, total: int, what: str) -> None:
        """From the worker."""
        self.done_bytes, self.total_bytes, self.what = done, total, what

    def per_s(self) -> float | None:
        """Bytes a second over the last moments; None while that cannot be told. Called by the timer only."""
        now = time.monotonic()
        if self.phase is not Phase.LOADING or self.what:
            self._past.clear()
            return None
        self._past = [p for p in self._past if now - p[0] <= _SPAN_S]
        self._past.append((now, self.done_bytes))
        then, before = self._past[0]
        return (self.done_bytes - before) / (now - then) if now - then > 0.4 else None


class Transfers(QObject):
    """All downloads of the window, in the order of their beginning."""

    changed = Signal()
    """one came, went, or stands elsewhere"""
    arrived = Signal(object)
    """list of paths that are here now"""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.all: list[Transfer] = []
        app = QCoreApplication.instance()
        if app is not None:
            # Before the worker threads are joined, or they would be waited for until the last byte.
            app.aboutToQuit.connect(self.pause_all)
        self.destroyed.connect(_stopper(self.all))

    def add(self, transfer: Transfer) -> Transfer:
        """It begins when its turn comes, unless it is paused."""
        self.all.append(transfer)
        self._next()
        return transfer

    def busy(self) -> bool:
        return any(t.phase in (Phase.LOADING, Phase.PAUSING) for t in self.all)

    def pause(self, transfer: Transfer) -> None:
        """What came so far is kept."""
        if transfer.phase is Phase.LOADING:
            transfer.phase = Phase.PAUSING
            transfer.stop.set()
        elif transfer.phase is Phase.WAITING:
            transfer.phase = Phase.PAUSED
        self.changed.emit()

    def resume(self, transfer: Transfer) -> None:
        if transfer.phase in (Phase.PAUSED, Phase.FAILED):
            transfer.phase, transfer.error = Phase.WAITING, None
            self._next()

    def remove(self, transfer: Transfer) -> None:
        """Away with it, and with what came of it unless it is done."""
        if transfer.phase in (Phase.LOADING, Phase.PAUSING):
            transfer.drop = True
            transfer.phase = Phase.PAUSING
            transfer.stop.set()
            self.changed.emit()
            return
        if transfer in self.all:
            self.all.remove(transfer)
        if transfer.phase is not Phase.DONE:
            _discard(transfer)
        self.changed.emit()

    @Slot()
    def pause_all(self) -> None:
        """The program ends: what came is kept, and found again by the next one."""
        for transfer in self.all:
            if transfer.phase is Phase.WAITING:
                transfer.phase = Phase.PAUSED
            transfer.stop.set()

    def _next(self) -> None:
        waiting = next((t for t in self.all if t.phase is Phase.WAITING), None)
        if waiting is not None and not self.busy():
            self._start(waiting)
        self.changed.emit()

    def _start(self, transfer: Transfer) -> None:
        transfer.phase = Phase.LOADING
        transfer.stop.clear()

        def work() -> list[Path] | None:
            """None: paused."""
            try:
                if transfer.download is None:
                    transfer.download = transfer.make()
                return transfer.download.run(transfer.tell, transfer.stop.is_set)
            except Paused:
                return None

        bridge.run(work, lambda paths: self._ended(transfer, paths), lambda error: self._failed(transfer, error), self,
                   name="download")

    def _ended(self, transfer: Transfer, paths: list[Path] | None) -> None:
        if paths is not None:
            transfer.phase, transfer.paths = Phase.DONE, paths
            self.arrived.emit(paths)
        else:
            transfer.phase = Phase.PAUSED
        self._left(transfer)

    def _failed(self, transfer: Transfer, error: AppError) -> None:
        transfer.phase, transfer.error = Phase.FAILED, error
        self._left(transfer)

    def _left(self, transfer: Transfer) -> None:
        if transfer.drop:
            self.remove(transfer)
        self._next()


def _discard(transfer: Transfer) -> None:
    from paddock.library.hub.download import discard_part

    if transfer.download is not None:
        transfer.download.discard()
    elif transfer.part is not None:
        discard_part(transfer.part)


def _stopper(transfers: list[Transfer]) -> Callable[[], None]:
    """Without the object, which is gone by then."""
    def stop() -> None:
        for transfer in transfers:
            transfer.stop.set()
    return stop
