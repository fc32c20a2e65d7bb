"""A live run as frames for the plots, and what its plots must know beforehand."""

from __future__ import annotations

from typing import Any

from paddock.desktop.plots import Frame, Setup
from paddock.fit.model import Estimate


def predicted_bytes(estimate: Estimate | None) -> dict[str, float]:
    """What the estimate said each device would hold; devices that get nothing are left out."""
    return {d.name: float(d.total) for d in estimate.devices if d.total > 0} if estimate is not None else {}


def setup_of(run: Any, usual_per_s: float | None = None) -> Setup:
    """Devices, slots and limits of a run: the server's own words where it has told them, else the estimate."""
    preview = run.preview
    estimate: Estimate | None = preview.estimate
    parser = run.recorder.parser
    slots = parser.slots or (estimate.slots if estimate is not None else None) or 1
    limit: float | None = None
    if parser.context_per_slot:
        limit = float(parser.context_per_slot * (1 if parser.kv_unified else slots))
    elif estimate is not None and estimate.context_length:
        limit = float(estimate.context_length)
    machine = preview.machine
    devices = tuple(d.name for d in machine.devices) if machine is not None else ()
    return Setup(devices, slots, limit, predicted_bytes(estimate), usual_per_s, run.answers_texts)


class LiveSource:
    """Asked several times a second; gives a frame when something has moved, else None."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.snapshot: Any = None
        self._seen: tuple[object, ...] = ()

    def pull(self) -> Frame | None:
        """The newest frame, or None when the last one is still true."""
        snapshot = self.run.recorder.snapshot()
        self.snapshot = snapshot
        series = self.run.recorder.series
        seen = (len(series), series.span(), snapshot.request_revision, snapshot.event_revision)
        if seen == self._seen:
            return None
        self._seen = seen
        return self.frame()

    def frame(self) -> Frame:
        """The state of the last pull."""
        snapshot = self.snapshot or self.run.recorder.snapshot()
        span = self.run.recorder.series.span()
        # The axis ends with the newest sample or event; the clock alone would run on after the server has stopped.
        ends = [span[1] if span else 0.0, *(e.t for e in snapshot.events[-1:])]
        return Frame(self.run.recorder.series, snapshot.requests, snapshot.events, max(ends))
