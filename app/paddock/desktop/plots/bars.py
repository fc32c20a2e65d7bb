"""The bars of the slot lanes as arrays: a day has a thousand of them, most too narrow for more than a colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPaintEngine, QPainter

from paddock.desktop.plots import ink
from paddock.desktop.plots.columns import premultiplied
from paddock.desktop.plots.scale import Floats
from paddock.session.model import Request

NARROW = 8
"""Pixels below which a bar shows neither hatch nor number."""


class Bars:
    """Requests that a slot took."""

    def __init__(self) -> None:
        self._of: Sequence[Request] = ()
        self._requests: list[Request] = []
        self._slots: NDArray[np.int64] = np.empty(0, np.int64)
        self._failed: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._times: Floats = np.empty((3, 0))

    def set_requests(self, requests: Sequence[Request]) -> None:
        if requests is self._of:
            return
        self._of = requests
        self._requests = [r for r in requests if r.slot is not None]
        self._slots = np.array([r.slot for r in self._requests], np.int64)
        self._failed = np.array([r.status == "failed" for r in self._requests], np.bool_)
        rows = [(r.t_start, _first_token(r), math.nan if r.t_end is None else r.t_end) for r in self._requests]
        self._times = np.array(rows, np.float64).reshape(-1, 3).T

    def request(self, number: int) -> tuple[Request, int]:
        """The request with this number among the bars, and its slot."""
        return self._requests[number], int(self._slots[number])

    def times(self, now: float) -> Floats:
        """[3, requests] seconds: start, first token, end. What goes on ends now, what is read has no token before."""
        start, first, end = self._times
        end = np.where(np.isnan(end), now, end)
        return np.stack((start, np.fmin(first, end), end))

    def within(self, start: float, end: float, now: float) -> list[tuple[Request, int, float, float, float]]:
        """Those in sight: request, slot, and its `times`."""
        times = self.times(now)
        shown = np.flatnonzero((times[2] >= start) & (times[0] <= end))
        return [(*self.request(int(n)), float(times[0, n]), float(times[1, n]), float(times[2, n])) for n in shown]

    def paint_narrow(self, painter: QPainter, plot: QRectF, lanes: int, gap: float, x: Floats) -> list[int]:
        """Paint all bars that are narrow; returns the numbers of the others that are in sight.

        `x`: `times` in pixels of `plot`, which has so many lanes.
        """
        left, right = np.floor(x[0]), np.maximum(np.ceil(x[2]), np.floor(x[0]) + 1)
        shown = (right > 0) & (left < plot.width()) & (self._slots < lanes)
        narrow = shown & (right - left < NARROW)
        if narrow.any():
            self._paint(painter, plot, lanes, gap, narrow, x)
        return [int(n) for n in np.flatnonzero(shown & ~narrow)]

    def _paint(self, painter: QPainter, plot: QRectF, lanes: int, gap: float, which: NDArray[np.bool_], x: Floats,
               ) -> None:
        width = math.ceil(plot.width())
        slots, failed = self._slots[which], self._failed[which]
        left, middle, right = np.floor(x[0][which]), np.floor(x[1][which]), np.ceil(x[2][which])
        right = np.maximum(right, left + 1)
        picture = np.zeros((lanes, width), np.uint32)
        prompt, written, bad = (premultiplied(colour.rgba()) for colour in (ink.data(2), ink.data(1), ink.role("bad")))
        left, right = np.maximum(left, 0).astype(np.int64), np.minimum(right, width).astype(np.int64)
        wide = np.maximum(right - left, 0)
        bar = np.repeat(np.arange(len(left)), wide)  # which bar each of the pixels belongs to
        column = np.arange(len(bar)) + np.repeat(left - np.cumsum(wide) + wide, wide)
        picture[slots[bar], column] = np.where(failed[bar], bad, np.where(column < middle[bar], prompt, written))
        height = plot.height() / lanes
        if painter.paintEngine().type() != QPaintEngine.Type.Raster:
            _as_rectangles(painter, plot, height, gap, picture)
            return
        image = QImage(picture.data, width, lanes, width * 4, QImage.Format.Format_ARGB32_Premultiplied)
        for lane in range(lanes):
            target = QRectF(plot.left(), plot.top() + lane * height + gap, width, max(height - 2 * gap, 1.0))
            painter.drawImage(target, image, QRectF(0, lane, width, 1))


def _as_rectangles(painter: QPainter, plot: QRectF, height: float, gap: float, picture: NDArray[np.uint32]) -> None:
    """For a drawing, which should have no pixels in it."""
    for lane, row in enumerate(picture):
        edges = [int(n) for n in np.flatnonzero(np.diff(row.astype(np.int64), prepend=0, append=0))]
        for first, last in pairwise(edges):
            if row[first]:
                box = QRectF(plot.left() + first, plot.top() + lane * height + gap, last - first,
                             max(height - 2 * gap, 1.0))
                painter.fillRect(box, QColor.fromRgba(int(row[first])))


def _first_token(request: Request) -> float:
    if request.t_first_token is not None:
        return request.t_first_token
    return math.nan if request.ttft_s is None else request.t_start + request.ttft_s
