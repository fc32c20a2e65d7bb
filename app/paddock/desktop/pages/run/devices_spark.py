"""The last half minute of loads at ten readings a second, drawn plainly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from paddock.desktop.plots import ink
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

_SPAN_S = 30.0
_CARD_COLOURS = (1, 2, 3, 5, 6)


class Spark(QWidget):
    """0 to 100 %: each card's load in the colour that it has in the plots, and the processor's."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._series: Any = None
        self._columns: list[tuple[str, str, int]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def follow(self, series: Any, devices: Sequence[str]) -> None:
        """Columns `<device>.utilisation_pct` and `cpu_pct` of this series."""
        self._series = series
        self._columns = [(f"{name}.utilisation_pct", name, _CARD_COLOURS[i % 5]) for i, name in enumerate(devices)]
        self._columns.append(("cpu_pct", tr("CPU"), 4))
        self.setAccessibleName(tr("Load over the last 30 seconds"))

    def sizeHint(self) -> QSize:
        return QSize(theme().px(160), theme().px(64))

    def lines(self, width: float, height: float) -> list[tuple[str, int, list[tuple[float, float]]]]:
        """(name, colour, points) of what is known, in pixels of a box."""
        span = self._series.span() if self._series is not None else None
        if span is None:
            return []
        end, out = span[1], []
        for column, name, colour in self._columns:
            t, y = self._series.view(column, end - _SPAN_S, end)
            points = [(width * (1 - (end - float(a)) / _SPAN_S), height * (1 - float(b) / 100))
                      for a, b in zip(t, y, strict=True) if not math.isnan(b) and a >= end - _SPAN_S]
            if points:
                out.append((name, colour, points))
        return out

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(ink.caption())
        line = painter.fontMetrics().height()
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -line - 2.5)
        painter.fillRect(box, ink.role("alt"))
        painter.setPen(ink.pen(ink.role("line")))
        painter.drawRect(box)
        x = box.left()
        for name, colour, points in self.lines(box.width(), box.height()):
            painter.setPen(ink.pen(ink.data(colour), ink.dash(colour)))
            painter.drawPolyline(QPolygonF([QPointF(box.left() + a, box.top() + b) for a, b in points]))
            painter.drawLine(QPointF(x, box.bottom() + line / 2 + 2), QPointF(x + 16, box.bottom() + line / 2 + 2))
            painter.setPen(ink.role("text2"))
            wide = painter.fontMetrics().horizontalAdvance(name) + 4
            painter.drawText(QRectF(x + 20, box.bottom() + 2, wide, line), int(Qt.AlignmentFlag.AlignVCenter), name)
            x += 20 + wide + 12
        painter.setPen(ink.role("text3"))
        painter.drawText(QRectF(0, box.bottom() + 2, self.width() - 1, line),
                         int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), tr("% over 30 s"))
