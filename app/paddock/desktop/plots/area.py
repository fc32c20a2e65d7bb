"""A filled band of a plot. Where there are many samples it is filled column by column, not as a polygon."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter

from paddock.desktop.plots import ink
from paddock.desktop.plots.columns import between, paint_rows
from paddock.desktop.plots.line import stroke
from paddock.desktop.plots.scale import Floats, runs
from paddock.desktop.plots.view import Way

_DENSE = 240
"""Points from which a polygon's many steep edges cost more than a picture of columns."""


class Area:
    """A filled band between two curves under its own 1 px line; NaN leaves a hole."""

    def __init__(self, colour: int, share: float) -> None:
        self.colour, self.share = colour, share
        self._t: Floats = np.empty(0)
        self._low: Floats = np.empty(0)
        self._high: Floats = np.empty(0)

    def set_data(self, t: Floats, low: Floats, high: Floats) -> None:
        """Arrays of one length; `low` ≤ `high`, both NaN where one is."""
        self._t, self._low, self._high = t, low, high

    def shown(self) -> tuple[Floats, Floats, Floats]:
        """What is shown."""
        return self._t, self._low, self._high

    @property
    def filled(self) -> bool:
        """Whether there is anything to fill."""
        return bool(len(self._high)) and not bool(np.isnan(self._high).all())

    def curves(self, way: Way) -> list[tuple[Floats, Floats]]:
        return [(self._t, self._high), (self._t, self._low)] if self._by_columns(way) else []

    def _by_columns(self, way: Way) -> bool:
        return len(self._t) > _DENSE and not way.vector

    def paint(self, painter: QPainter, way: Way) -> None:
        if not self.filled:
            return
        line = ink.data(self.colour)
        if self._by_columns(way):
            high, low = way.pixels(self._high), way.pixels(self._low)
            if high is not None and low is not None:
                paint_rows(painter, way.ratio, high[0].left, *between(low[1], high[1]), ink.tint(line, self.share))
        else:
            self._fill_polygons(painter, way)
        stroke(painter, way, self._t, self._high, line)

    def _fill_polygons(self, painter: QPainter, way: Way) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink.tint(ink.data(self.colour), self.share))
        x, low, high = way.x(self._t), way.y(self._low), way.y(self._high)
        for first, last in runs(np.isfinite(high) & np.isfinite(low)):
            cut = slice(first, last + 1)
            painter.drawPolygon(pg.functions.arrayToQPolygonF(
                np.concatenate((x[cut], x[cut][::-1])), np.concatenate((high[cut], low[cut][::-1]))))
