"""Many requests in one picture: a box per session over time, a histogram, a scatter of two metrics. Painted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from paddock.desktop.pages.sessions.sketches import Axes
from paddock.desktop.plots import ink
from paddock.desktop.plots.scale import Floats, calm_top, short_text
from paddock.desktop.tr import tr

_BINS = 24


@dataclass(frozen=True)
class Box:
    """One session's figures: quartiles, and the whiskers at 5 and 95 percent."""

    session_id: int
    label: str
    quartiles: tuple[float, float, float]
    whiskers: tuple[float, float]
    count: int
    mark: str = ""
    """What changed with it: another engine."""

    @classmethod
    def of(cls, session_id: int, label: str, values: Floats, mark: str = "") -> Box | None:
        """None without a figure."""
        if not len(values):
            return None
        low, first, middle, third, high = (float(v) for v in np.percentile(values, (5, 25, 50, 75, 95)))
        return cls(session_id, label, (first, middle, third), (low, high), len(values), mark)


class _Threshold(Axes):
    """A line that the person draws: `limit` in the metric's unit, NaN for none."""

    limit = math.nan

    def _paint_limit(self, painter: QPainter) -> None:
        if math.isfinite(self.limit) and self.limit <= self._top:
            y = self._point(0, self.limit).y()
            painter.setPen(ink.pen(ink.role("bad"), (6, 4), 1.2))
            painter.drawLine(QPointF(self._box().left(), y), QPointF(self._box().right(), y))


class TrendChart(_Threshold):
    """Boxes in the order of time, at even distances; a dashed line where another engine began."""

    opened = Signal(int)
    """id of the session that was clicked"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._boxes: Sequence[Box] = ()
        self.setMinimumHeight(180)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Sessions over time"))

    def show_boxes(self, boxes: Sequence[Box]) -> None:
        self._boxes = boxes
        self._top = calm_top(max((b.whiskers[1] for b in boxes), default=math.nan), 0.0, 0.01)
        self._right_end = float(max(len(boxes), 1))
        self.setAccessibleDescription("; ".join(tr("{when}: median {median}", when=b.label,
                                                   median=short_text(b.quartiles[1])) for b in boxes[-20:]))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        step = max(1, math.ceil(len(self._boxes) / max(1, self.width() // 90)))
        self._paint_frame(painter, [(i + 0.5, b.label) for i, b in enumerate(self._boxes) if i % step == 0])
        if not self._boxes:
            self._say_nothing(painter, tr("No session of this choice tells this figure."))
        width = min(22.0, max(3.0, self._box().width() / max(len(self._boxes), 1) * 0.5))
        for i, box in enumerate(self._boxes):
            if box.mark:
                self._paint_mark(painter, i, box.mark)
            self._paint_box(painter, i + 0.5, box, width)
        self._paint_limit(painter)
        painter.end()

    def _paint_box(self, painter: QPainter, x: float, box: Box, width: float) -> None:
        low, high = (self._point(x, v) for v in box.whiskers)
        first, middle, third = (self._point(x, v) for v in box.quartiles)
        painter.setPen(ink.pen(ink.data(1), (), 1.2))
        painter.drawLine(low, high)
        painter.setBrush(ink.role("base"))
        painter.drawRect(QRectF(first.x() - width / 2, third.y(), width, max(first.y() - third.y(), 1.0)))
        painter.setPen(ink.pen(ink.data(1), (), 2.4))
        painter.drawLine(QPointF(middle.x() - width / 2, middle.y()), QPointF(middle.x() + width / 2, middle.y()))

    def _paint_mark(self, painter: QPainter, i: int, words: str) -> None:
        at, box = self._point(i, 0).x(), self._box()
        painter.setPen(ink.pen(ink.role("text3"), (4, 3), 1.0))
        painter.drawLine(QPointF(at, box.top()), QPointF(at, box.bottom()))
        painter.setPen(ink.role("text2"))
        painter.setFont(ink.caption())
        room = max(40.0, min(220.0, box.right() - at - 6))
        shown = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, int(room))
        painter.drawText(QRectF(at + 4, box.top(), room, 14), int(Qt.AlignmentFlag.AlignLeft), shown)

    def _at(self, x: float) -> Box | None:
        box = self._box()
        i = int((x - box.left()) / max(box.width(), 1) * len(self._boxes))
        return self._boxes[i] if 0 <= i < len(self._boxes) and x >= box.left() else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        box = self._at(event.position().x())
        self.setToolTip("" if box is None else tr(
            "Session {id}, {when}: median {median}, half of {count} requests between {low} and {high}. Click opens it.",
            id=box.session_id, when=box.label, median=short_text(box.quartiles[1]), count=box.count,
            low=short_text(box.quartiles[0]), high=short_text(box.quartiles[2])))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        box = self._at(event.position().x())
        if box is not None and event.button() is Qt.MouseButton.LeftButton:
            self.opened.emit(box.session_id)


class Histogram(Axes):
    """How often each value was: bars of requests, the quartiles as a box above them."""

    limit = math.nan

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._counts: Floats = np.empty(0)
        self._edges: Floats = np.empty(0)
        self._values: Floats = np.empty(0)
        self.setMinimumHeight(180)
        self.setAccessibleName(tr("How often each value was"))

    def show_values(self, values: Floats) -> None:
        self._values = values
        if len(values):
            top = float(values.max())
            low = 0.0 if values.min() < 0.5 * top else float(values.min())
            self._counts, self._edges = np.histogram(values, bins=_BINS, range=(low, top if top > low else low + 1.0))
            self._top = calm_top(float(self._counts.max()), 0.0, 4.0)
        self.setAccessibleDescription(summary(values))
        self.update()

    def _x(self, value: float) -> float:
        box, (low, high) = self._box(), (self._edges[0], self._edges[-1])
        return float(box.left() + (value - low) / (high - low) * box.width())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if not len(self._values):
            self._paint_frame(painter, [])
            self._say_nothing(painter, tr("No request of this choice tells this figure."))
            painter.end()
            return
        self._right_end = 1.0
        left, width = self._box().left(), self._box().width()
        ticks = [float(v) for v in np.linspace(self._edges[0], self._edges[-1], 6)]
        self._paint_frame(painter, [((self._x(v) - left) / width, short_text(v)) for v in ticks])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink.data(1))
        for count, left, right in zip(self._counts, self._edges[:-1], self._edges[1:], strict=True):
            if count:
                a, b, y = self._x(left), self._x(right), self._point(0, float(count)).y()
                painter.drawRect(QRectF(a + 0.5, y, max(b - a - 1, 1), self._box().bottom() - y))
        self._paint_quartiles(painter)
        if math.isfinite(self.limit) and self._edges[0] <= self.limit <= self._edges[-1]:
            painter.setPen(ink.pen(ink.role("bad"), (6, 4), 1.2))
            x = self._x(self.limit)
            painter.drawLine(QPointF(x, self._box().top()), QPointF(x, self._box().bottom()))
        painter.end()

    def _paint_quartiles(self, painter: QPainter) -> None:
        low, first, middle, third, high = (self._x(float(v)) for v in np.percentile(self._values, (5, 25, 50, 75, 95)))
        y = self._box().top() + 2
        painter.setPen(ink.pen(ink.role("text"), (), 1.2))
        painter.setBrush(ink.role("base"))
        painter.drawLine(QPointF(low, y + 5), QPointF(high, y + 5))
        painter.drawRect(QRectF(first, y, max(third - first, 1), 10))
        painter.setPen(ink.pen(ink.role("text"), (), 2.4))
        painter.drawLine(QPointF(middle, y), QPointF(middle, y + 10))


class Pairs(_Threshold):
    """Every request as a dot: one metric over another."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._x: Floats = np.empty(0)
        self._y: Floats = np.empty(0)
        self.setMinimumHeight(180)
        self.setAccessibleName(tr("One figure over another"))

    def show_pairs(self, x: Floats, y: Floats) -> None:
        """Equal lengths; pairs with a gap are left out."""
        known = np.isfinite(x) & np.isfinite(y)
        self._x, self._y = x[known], y[known]
        self._top = calm_top(float(self._y.max()) if len(self._y) else math.nan, 0.0, 0.01)
        self._right_end = (float(self._x.max()) if len(self._x) else 1.0) or 1.0
        self.setAccessibleDescription(correlation_words(self._x, self._y))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        end = self._right_end
        self._paint_frame(painter, [(end * i / 5, short_text(end * i / 5)) for i in range(6)])
        if not len(self._x):
            self._say_nothing(painter, tr("No request of this choice tells both figures."))
        painter.setPen(Qt.PenStyle.NoPen)
        colour = ink.data(1)
        colour.setAlphaF(0.55)
        painter.setBrush(colour)
        for x, y in zip(self._x.tolist(), self._y.tolist(), strict=True):
            painter.drawEllipse(self._point(x, y), 2.6, 2.6)
        self._paint_limit(painter)
        painter.end()


def summary(values: Floats) -> str:
    """Count, median, quartiles and the 95th percentile, in words."""
    if not len(values):
        return tr("no request")
    first, middle, third, high = (short_text(float(v)) for v in np.percentile(values, (25, 50, 75, 95)))
    return tr("{count} requests, median {median}, half between {first} and {third}, 95 % up to {high}",
              count=len(values), median=middle, first=first, third=third, high=high)


def correlation_words(x: Floats, y: Floats) -> str:
    """Spearman's rank correlation, said for ten pairs and more: ranks ask for no straight line."""
    if len(x) < 10 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return tr("{count} requests", count=len(x))
    rho = float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])  # scipy's would take half a second to import here
    words = tr("no connection to speak of") if abs(rho) < 0.2 else tr(
        "the higher, the higher") if rho > 0 else tr("the higher, the lower")
    return tr("{count} requests, rank correlation {rho}: {words}", count=len(x), rho=f"{rho:+.2f}", words=words)


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, equal values sharing their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]
