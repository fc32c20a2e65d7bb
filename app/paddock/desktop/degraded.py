"""Looks whether a run has become degraded, or is so no longer, while no page shows it: for the dock and the rail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Slot

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

LOOK_MS = 2000
"""As often as the detectors look themselves."""


def is_degraded(run: Any) -> bool:
    """Whether a run serves on in spite of something: said by its log, or found by the detectors."""
    return any(not d.fatal for d in run.diagnoses) or bool(run.findings)


class FindingsWatch(QObject):
    """Emits the desk's `runDiagnosed(run, None)` when a run's findings are others than before."""

    def __init__(self, desk: Desk, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._seen: dict[int, tuple[str, ...]] = {}
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    @Slot()
    def look(self) -> None:
        """Compare all runs with the last look."""
        now = {id(run): (run, tuple(f.id for f in run.findings)) for run in self._desk.runs()}
        changed = [run for key, (run, ids) in now.items() if ids != self._seen.get(key, ())]
        self._seen = {key: ids for key, (_, ids) in now.items()}
        for run in changed:
            self._desk.runDiagnosed.emit(run, None)
