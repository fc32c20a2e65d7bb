"""The verdict of each row, worked out in the background, a file at a time, and dropped when it is not wanted now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from paddock.desktop import bridge
from paddock.desktop.pages.models.rows import ModelRow
from paddock.errors import AppError
from paddock.fit.model import Verdict
from paddock.launch.model import Plan

CONTEXT = 8192


class Fits(QObject):
    """Asks the workspace for an estimate with a context of 8,192 tokens (less where the model was trained for less)."""

    fitted = Signal(object, object, str, object)
    """Path, Verdict, reason, KV bytes per token or None."""

    def __init__(self, workspace: Any, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._job: bridge.Job | None = None
        self._waiting: list[ModelRow] = []

    def work_out(self, rows: Sequence[ModelRow]) -> None:
        """These rows, in this order; what was under way for others ends."""
        self.cancel()
        wanted = [r for r in rows if r.launchable and r.verdict is None]
        if not wanted:
            return
        job = bridge.Job("fits")
        self._job = job
        bridge.run(lambda: self._each(wanted, job), None, None, self, name="fits", job=job)

    def cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _each(self, rows: Sequence[ModelRow], job: bridge.Job) -> None:
        """In a worker thread."""
        for row in rows:
            if job.cancelled():
                return
            verdict, reason, kv = self._one(row)
            if not job.cancelled():
                self.fitted.emit(row.path, verdict, reason, kv)

    def _one(self, row: ModelRow) -> tuple[Verdict, str, float | None]:
        context = min(row.context, CONTEXT) if row.context else CONTEXT
        plan = Plan().with_("model", str(row.path)).with_("ctx-size", context)
        try:
            found = self._workspace.estimate(plan)
        except AppError as error:
            return Verdict.CANT_TELL, str(error), None
        return found.verdict, str(found.rejected or found.reason), found.kv_bytes_per_token

    @Slot()
    def stop(self) -> None:
        self.cancel()
