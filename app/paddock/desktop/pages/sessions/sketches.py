"""Two still pictures of a comparison: generation over time, and generation by tokens in context. Painted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from paddock.desktop.plots import ink
from paddock.desktop.plots.scale import Floats, calm_top, clock_text, runs, short_text, time_ticks
from paddock.desktop.tr import tr

_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 8, 20


class Axes(QWidget):
    """Axes and grid; subclasses paint what is inside."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._top, self._right_end = 10.0, 1.0
        self.setMinimumHeight(90)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def _box(self) -> QRectF:
        return QRectF(_LEFT, _TOP, self.width() - _LEFT - _RIGHT, self.height() - _TOP - _BOTTOM)

    def _point(self, x: float, y: float) -> QPointF:
        box = self._box()
        return QPointF(box.left() + x / self._right_end * box.width(), box.bottom() - y / self._top * box.height())

    def _paint_frame(self, painter: QPainter, ticks: list[tuple[float, str]]) -> None:
        painter.setFont(ink.caption())
        box = self._box()
        for share in (0.0, 0.5, 1.0):
            y = box.bottom() - share * box.height()
            painter.setPen(ink.role("grid" if share else "edge"))
            painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
            painter.setPen(ink.role("text3"))
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(0, y - 8, _LEFT - 6, 16), int(side), short_text(self._top * share))
        for x, words in ticks:
            at = self._point(x, 0)
            left = min(max(at.x() - 40, 0), self.width() - 80)
            painter.drawText(QRectF(left, box.bottom() + 2, 80, _BOTTOM - 2), int(Qt.AlignmentFlag.AlignCenter), words)

    def _say_nothing(self, painter: QPainter, words: str) -> None:
        painter.setPen(ink.role("text2"))
        painter.drawText(self._box(), int(Qt.AlignmentFlag.AlignCenter), words)


class TimeSketch(Axes):
    """Generation of one session over its time, with the colour and dash of its side."""

    def __init__(self, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._number = number
        self._t: Floats = np.empty(0)
        self._y: Floats = np.empty(0)

    def show_curve(self, t: Floats, y: Floats, top: float) -> None:
        """Seconds and t/s; `top` is the scale that both sides share."""
        self._t, self._y, self._top = t, y, max(top, 1.0)
        self._right_end = float(t[-1]) if len(t) else 1.0
        known = y[np.isfinite(y) & (y > 0)]
        self.setAccessibleDescription(tr("median {median} t/s while writing", median=f"{np.median(known):.1f}")
                                      if len(known) else tr("no tokens"))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ticks = [(t, clock_text(t)) for t in time_ticks(0.0, self._right_end, max(2, self.width() // 130))]
        self._paint_frame(painter, ticks)
        if not np.isfinite(self._y).any():
            self._say_nothing(painter, tr("No tokens were generated."))
        painter.setPen(ink.pen(ink.data(self._number), ink.dash(self._number)))
        for first, last in runs(np.isfinite(self._y)):
            path = QPainterPath(self._point(float(self._t[first]), float(self._y[first])))
            for i in range(first + 1, last + 1):
                path.lineTo(self._point(float(self._t[i]), float(self._y[i])))
            painter.drawPath(path)
        painter.end()


@dataclass(frozen=True)
class Cloud:
    """Points of one side and the line through them; (intercept, slope) None with fewer than three."""

    x: list[float]
    y: list[float]

    @property
    def line(self) -> tuple[float, float] | None:
        if len(self.x) < 3 or max(self.x) <= min(self.x):
            return None
        slope, start = np.polyfit(self.x, self.y, 1)
        return float(start), float(slope)


class Scatter(Axes):
    """A as dots with a solid line, B as triangles with a dashed one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._clouds: tuple[Cloud, Cloud] = (Cloud([], []), Cloud([], []))
        self.setAccessibleName(tr("Generation by tokens in context"))

    def show_clouds(self, a: Cloud, b: Cloud) -> None:
        self._clouds = (a, b)
        self._top = calm_top(max([*a.y, *b.y], default=math.nan), 0.0, 10.0)
        self._right_end = max([*a.x, *b.x], default=1.0) or 1.0
        words = []
        for name, cloud in zip("AB", self._clouds, strict=True):
            line = cloud.line
            if line is not None:
                words.append(tr("{side}: {start} t/s at first, {change} t/s for each thousand tokens", side=name,
                                start=f"{line[0]:.1f}", change=f"{line[1] * 1000:+.2f}"))
        self.setAccessibleDescription(". ".join(words))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        end = self._right_end
        self._paint_frame(painter, [(end * i / 4, short_text(float(round(end * i / 4)), 1024.0)) for i in range(5)])
        if not (self._clouds[0].x or self._clouds[1].x):
            self._say_nothing(painter, tr("No request that tells a speed."))
        for number, cloud in enumerate(self._clouds, start=1):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink.data(number))
            for x, y in zip(cloud.x, cloud.y, strict=True):
                self._paint_mark(painter, number, self._point(x, y))
            line = cloud.line
            if line is not None:
                painter.setPen(QPen(ink.pen(ink.data(number), ink.dash(number) if number == 2 else (), 1.5)))
                ends = [self._point(x, line[0] + line[1] * x) for x in (min(cloud.x), max(cloud.x))]
                painter.drawLine(*ends)
        painter.end()

    @staticmethod
    def _paint_mark(painter: QPainter, number: int, at: QPointF) -> None:
        if number == 1:
            painter.drawEllipse(at, 2.6, 2.6)
        else:
            painter.drawPolygon(QPolygonF([at + QPointF(0, -3.6), at + QPointF(3.4, 2.6), at + QPointF(-3.4, 2.6)]))
