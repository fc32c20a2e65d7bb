"""A curve of a plot: a path where there is room for its points, else the columns of pixels that it covers."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter

from paddock.desktop.plots import ink
from paddock.desktop.plots.columns import dashed, paint_rows
from paddock.desktop.plots.scale import Floats
from paddock.desktop.plots.view import Way


class Line:
    """NaN leaves a gap. `colour`: the number of a data colour, whose dashes it has too."""

    def __init__(self, colour: int) -> None:
        self.colour = colour
        self._x: Floats = np.empty(0)
        self._y: Floats = np.empty(0)

    def set_data(self, x: Floats, y: Floats) -> None:
        """Arrays of one length, data coordinates."""
        self._x, self._y = x, y

    def shown(self) -> tuple[Floats, Floats]:
        """What is shown."""
        return self._x, self._y

    def curves(self, way: Way) -> list[tuple[Floats, Floats]]:
        return [(self._x, self._y)] if way.is_dense(self._y) else []

    def paint(self, painter: QPainter, way: Way) -> None:
        stroke(painter, way, self._x, self._y, ink.data(self.colour), ink.dash(self.colour))


def stroke(painter: QPainter, way: Way, x: Floats, y: Floats, colour: QColor, dashes: tuple[float, ...] = ()) -> None:
    """A line one pixel wide through these points; a dense one is prepared."""
    if way.is_dense(y):
        found = way.pixels(y)
        if found is not None:
            columns, (_, _, top, bottom) = found
            if dashes:
                bottom = np.where(dashed(columns.left, columns.count, dashes, way.ratio), bottom, top)
            paint_rows(painter, way.ratio, columns.left, top, bottom, colour)
    elif len(y):
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(ink.pen(colour, dashes))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(pg.arrayToQPath(way.x(x), way.y(y), connect="finite"))
