"""A curve of a plot: a path under a cosmetic pen, and nothing else.

pyqtgraph's own curve item asks for its bounds and its pixels' size several times a picture, which for twenty curves of
a thousand points costs more than drawing them.
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from paddock.desktop.plots.scale import Floats


class Line(QGraphicsItem):
    """NaN leaves a gap."""

    def __init__(self) -> None:
        super().__init__()
        self._x: Floats = np.empty(0)
        self._y: Floats = np.empty(0)
        self._path = pg.arrayToQPath(self._x, self._y)
        self._pen = QPen()
        self._box = QRectF()

    def set_pen(self, pen: QPen) -> None:
        """A cosmetic pen."""
        self._pen = pen
        self.update()

    def set_data(self, x: Floats, y: Floats) -> None:
        """Arrays of one length, data coordinates."""
        self.prepareGeometryChange()
        self._x, self._y = x, y
        low, high = (float(f.reduce(y)) for f in (np.fmin, np.fmax)) if len(y) else (np.nan, np.nan)
        if np.isfinite(low) and np.isfinite(high):
            self._path = pg.arrayToQPath(x, y, connect="finite")
            self._box = QRectF(float(x[0]), low, max(float(x[-1] - x[0]), 1e-9), max(high - low, 1e-9))
        else:
            self._box = QRectF()

    def shown(self) -> tuple[Floats, Floats]:
        """What is shown."""
        return self._x, self._y

    def boundingRect(self) -> QRectF:
        return self._box

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if not self._box.isNull():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(self._pen)
            painter.drawPath(self._path)
