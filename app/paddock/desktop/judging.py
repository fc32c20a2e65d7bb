"""Asks, off the GUI thread, what the plan on the desk costs: first the preview, then what could be done instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

from paddock.desktop import bridge
from paddock.desktop.history import Record, record_of
from paddock.desktop.whatif import WhatIf
from paddock.errors import AppError

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.work import Preview, Workspace

_DEBOUNCE_MS = 30
_SETTLED_MS = 100


class Judge(QObject):
    """One preview at a time, always of the newest plan; the dearer questions wait until the plan has settled."""

    def __init__(self, desk: Desk, ask: Callable[[Workspace, Preview, Callable[[], bool]], WhatIf]) -> None:
        super().__init__(desk)
        self._desk, self._ask = desk, ask
        self._busy = self._dirty = self._again = self._fresh = False
        self._job: bridge.Job | None = None
        self._debounce = self._timer(_DEBOUNCE_MS, self._preview_now)
        self._settled = self._timer(_SETTLED_MS, self._what_if_now)

    def _timer(self, interval: int, slot: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setInterval(interval)
        timer.setSingleShot(True)
        timer.timeout.connect(slot)
        return timer

    def request(self, fresh: bool = False) -> None:
        """The plan, or what it is judged by, has changed. `fresh`: look at the world as a launch would, which asks the
        RPC hosts that the plan names and may take seconds."""
        self._fresh = self._fresh or fresh
        self._debounce.start()

    @property
    def quiet(self) -> bool:
        """Nothing is asked or about to be."""
        return not (self._busy or self._debounce.isActive() or self._settled.isActive())

    def close(self) -> None:
        """Ask nothing any more."""
        self._debounce.stop()
        self._settled.stop()
        if self._job is not None:
            self._job.cancel()

    # -- the preview ---------------------------------------------------------------------------------------------

    @Slot()
    def _preview_now(self) -> None:
        desk = self._desk
        if self._busy:
            self._dirty = True
            return
        if desk.engines is None:
            return
        fresh = self._fresh
        self._busy, self._dirty, self._fresh = True, False, False
        plan, machine = desk.plan, desk.machine_before()
        bridge.run(lambda: desk.workspace.preview(plan, machine=machine, fresh=fresh), self._previewed, self._failed,
                   self, name="preview")

    def _previewed(self, preview: Preview) -> None:
        self._busy = False
        desk = self._desk
        if preview.plan == desk.plan:
            desk.take_preview(preview)
        if self._dirty or preview.plan != desk.plan:
            self._preview_now()
        else:
            self._settled.start()
            self.ask_record()

    def _failed(self, error: AppError) -> None:
        self._busy = False
        self._desk.failed.emit(error)

    # -- what could be done instead ------------------------------------------------------------------------------

    @Slot()
    def _what_if_now(self) -> None:
        if self._job is not None and self._job.running:
            # It stops at its next step; two at a time would only slow each other down.
            self._job.cancel()
            self._settled.start()
            return
        preview, workspace, ask = self._desk.preview, self._desk.workspace, self._ask
        if preview is None or preview.plan != self._desk.plan:
            return
        job = self._job = bridge.Job("what if")
        bridge.run(lambda: ask(workspace, preview, job.cancelled), self._what_if_known, None, self, name="what if",
                   job=job)

    def _what_if_known(self, found: WhatIf) -> None:
        self._desk.what_if = found
        self._desk.whatIfChanged.emit(found)
        preview = self._desk.preview
        if not self._again and preview is not None and preview.ceiling is not None and preview.ceiling.low is None:
            self._again = True  # once: the RAM's speed was measured meanwhile
            self.request()

    # -- how right the estimates were ----------------------------------------------------------------------------

    @Slot()
    def ask_record(self) -> None:
        """After each preview and each run: it depends on model, engine and devices, and is cheap."""
        desk = self._desk
        preview = desk.preview
        if preview is not None and preview.model is not None:
            bridge.run(lambda: record_of(desk.workspace, preview), self._record_known, None, self, name="record")

    def _record_known(self, record: Record) -> None:
        desk = self._desk
        model = desk.preview.model if desk.preview is not None else None
        if model is not None and record.identity == model.identity and record != desk.record:
            desk.record = record
            desk.recordChanged.emit()
