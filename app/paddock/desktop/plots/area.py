"""A filled band of a plot. Where there are more samples than pixels it is filled column by column, not as a polygon."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPolygonF
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from paddock.desktop.plots import ink
from paddock.desktop.plots.scale import Floats, runs

Mask = NDArray[np.bool_]
Pixels = NDArray[np.int64]

_DENSE = 240
"""Points from which a polygon's many steep edges cost more than a picture of columns."""
_BRIDGED = 2
"""Columns that the last sample before a hole covers beside its own."""
_BEYOND = 64
"""Columns out of sight from which an edge may run into sight."""


class Area(QGraphicsItem):
    """A filled band between two curves under its own 1 px line; NaN leaves a hole."""

    def __init__(self, colour: int, share: float) -> None:
        super().__init__()
        self.colour, self.share = colour, share
        self._fill: list[QPolygonF] = []
        self._dense: tuple[Floats, Floats, Floats, Mask] | None = None
        self._line = QPainterPath()
        self._box = QRectF()

    def set_data(self, t: Floats, low: Floats, high: Floats) -> None:
        """Arrays of one length; `low` ≤ `high`."""
        self.prepareGeometryChange()
        known = np.isfinite(low) & np.isfinite(high)
        self._fill, self._line = [], QPainterPath()
        self._dense = None
        if int(known.sum()) > _DENSE:
            self._dense = (t[known], low[known], high[known], np.diff(np.flatnonzero(known), append=-1) == 1)
        for first, last in runs(known):
            cut = slice(first, last + 1)
            x, lo, hi = t[cut], low[cut], high[cut]
            if self._dense is None:
                self._fill.append(pg.functions.arrayToQPolygonF(
                    np.concatenate((x, x[::-1])), np.concatenate((hi, lo[::-1]))))
            self._line.addPolygon(pg.functions.arrayToQPolygonF(x, hi))
        box = self._line.boundingRect()
        self._box = (QRectF() if self._line.isEmpty()
                     else QRectF(box.left(), 0, max(box.width(), 1e-9), max(box.bottom(), 1e-9)))
        self.update()

    @property
    def filled(self) -> bool:
        """Whether there is anything to fill."""
        return bool(self._fill) or self._dense is not None

    def boundingRect(self) -> QRectF:
        return self._box

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        colour = ink.data(self.colour)
        if self._dense is not None:
            _paint_columns(painter, *self._dense, ink.tint(colour, self.share))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink.tint(colour, self.share))
        for polygon in self._fill:
            painter.drawPolygon(polygon)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(ink.pen(colour))
        painter.drawPath(self._line)


def _paint_columns(painter: QPainter, t: Floats, low: Floats, high: Floats, joined: Mask, colour: QColor) -> None:
    """One column of device pixels at a time: from the highest `low` in it to the highest `high`.

    `joined`: whether no hole lies between a sample and the next one.
    """
    way = painter.combinedTransform()
    ratio = painter.device().devicePixelRatioF()
    width, height = (int(n * ratio) for n in (painter.device().width(), painter.device().height()))
    x = np.floor(t * way.m11() + way.dx()).astype(np.int64)
    top, bottom = (np.round(y.astype(np.float64) * way.m22() + way.dy()).astype(np.int64) for y in (high, low))
    inside = (x >= -_BEYOND) & (x < width + _BEYOND)
    if way.m22() >= 0 or not inside.any():  # upside down, or nothing in sight
        return
    if not inside.all():
        x, top, bottom, joined = x[inside], top[inside], bottom[inside], joined[inside]
    columns, tops, bottoms = _every_column(x, np.clip(top, 0, height), np.clip(bottom, 0, height), joined)
    left, above, below = int(columns[0]), int(tops.min()), int(bottoms.max())
    if below <= above:
        return
    rows = np.arange(above, below, dtype=np.int16)[:, None]  # small numbers: this is most of the work
    tops, bottoms = tops.astype(np.int16), bottoms.astype(np.int16)
    picture = ((rows >= tops) & (rows < bottoms)) * _premultiplied(colour)
    if columns.size <= columns[-1] - left:
        filled, picture = picture, np.zeros((below - above, int(columns[-1]) - left + 1), np.uint32)
        picture[:, columns - left] = filled
    image = QImage(picture.data, picture.shape[1], picture.shape[0], picture.shape[1] * 4,
                   QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    painter.save()
    painter.resetTransform()
    painter.drawImage(QPointF(left / ratio, above / ratio), image)
    painter.restore()


def _every_column(x: Pixels, top: Pixels, bottom: Pixels, joined: Mask) -> tuple[Pixels, Pixels, Pixels]:
    """(column, top, bottom) of each column to fill; between two joined samples the edges run straight.

    Samples can lie further apart than columns: a slow computer answers late, and a zoom shows few of them.
    """
    starts = np.flatnonzero(np.diff(x, prepend=x[0] - 1))  # x rises
    columns = x[starts]
    tops, bottoms = (np.minimum.reduceat(y, starts) for y in (top, bottom))
    if joined[:-1].all():
        every = np.arange(columns[0], columns[-1] + 1)
        tops, bottoms = (np.round(np.interp(every, columns, y)).astype(np.int64) for y in (tops, bottoms))
        return every, tops, bottoms
    steps = np.diff(columns, append=columns[-1] + 1)
    straight = joined[np.append(starts[1:], x.size) - 1]
    straight[-1] = False
    counts = np.where(straight, steps, np.minimum(steps, 1 + _BRIDGED))
    own = np.repeat(np.arange(columns.size), counts)
    after = np.arange(own.size) - np.repeat(np.cumsum(counts) - counts, counts)
    share = np.where(straight, 1.0, 0.0)[own] * after / steps[own]
    following = np.minimum(own + 1, columns.size - 1)
    edges = (np.round(y[own] + share * (y[following] - y[own])).astype(np.int64) for y in (tops, bottoms))
    return columns[own] + after, *edges


def _premultiplied(colour: QColor) -> np.uint32:
    alpha = colour.alpha()
    red, green, blue = (round(part * alpha / 255) for part in (colour.red(), colour.green(), colour.blue()))
    return np.uint32(alpha << 24 | red << 16 | green << 8 | blue)
