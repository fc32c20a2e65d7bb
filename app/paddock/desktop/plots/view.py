"""The pane of a plot: curves in data coordinates, painted in the order in which they were added.

A scene of graphics items (pyqtgraph's GraphicsView with its ViewBox) took longer to ask its items for their bounds and
to set up their transforms than they took to paint. Here an item gets the way from data to pixels and paints itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPaintEngine, QPainter, QPaintEvent, QPen, QPixmap, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QWidget

from paddock.desktop.plots import ink
from paddock.desktop.plots.columns import Columns, Covered, covered
from paddock.desktop.plots.scale import Floats


@dataclass(frozen=True)
class Way:
    """From data to pixels of the pane, whose origin is its upper left corner. `ratio`: device pixels of one pixel."""

    start: float
    x_scale: float
    """Pixels a second."""
    top: float
    """The value at the upper edge."""
    y_scale: float
    """Pixels for a value of one."""
    width: int
    height: int
    ratio: float = 1.0
    vector: bool = False
    """It goes into a drawing, which has no pixels to fill."""
    _pixels: dict[int, tuple[Columns, Covered]] = field(default_factory=dict, init=False, repr=False, compare=False)
    def x(self, t: Floats) -> Floats:
        return (t - self.start) * self.x_scale

    def y(self, value: Floats) -> Floats:
        return (self.top - value) * self.y_scale

    def x_of(self, t: float) -> float:
        return (t - self.start) * self.x_scale

    def y_of(self, value: float) -> float:
        return (self.top - value) * self.y_scale

    def prepare(self, curves: Sequence[tuple[Floats, Floats]]) -> None:
        """Find the pixels of all these curves (t, y) at once, which takes a fraction of the time of one by one."""
        together: dict[int, list[tuple[Floats, Floats]]] = {}
        for t, y in curves:
            together.setdefault(id(t), []).append((t, y))
        for group in together.values():
            columns = _columns(self, group[0][0])
            if not columns.count:
                continue
            found = covered(columns.extremes([y for _, y in group]), self.top, self.y_scale * self.ratio,
                            self.height * self.ratio, max(1, round(self.ratio)))
            for (_, y), curve in zip(group, found, strict=True):
                self._pixels[id(y)] = columns, curve

    def pixels(self, y: Floats) -> tuple[Columns, Covered] | None:
        """The columns and rows of a prepared curve; None where none of it is in sight."""
        return self._pixels.get(id(y))

    def is_dense(self, y: Floats) -> bool:
        """Whether a curve has more points than pixels, and pixels at all: it is painted by them then."""
        return len(y) > self.width and not self.vector


_last: tuple[Floats, tuple[float, float, int], Columns] | None = None


def _columns(way: Way, t: Floats) -> Columns:
    """The curves of a picture share their moments, so the last columns are kept for the next plot."""
    global _last
    key = way.start, way.x_scale * way.ratio, round(way.width * way.ratio)
    if _last is None or _last[0] is not t or _last[1] != key:
        _last = t, key, Columns((t - way.start) * key[1], key[2])
    return _last[2]


class Item(Protocol):
    """Anything in a plot."""

    def curves(self, way: Way) -> list[tuple[Floats, Floats]]:
        """(t, y) of what it will ask the pixels of."""

    def paint(self, painter: QPainter, way: Way) -> None:
        """With whatever pen, brush and hints; none is kept from the item before."""


class View(QWidget):
    """Painted once for each change; what moves above it (the cross-hair) gets the same picture again."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setMinimumHeight(24)
        self._items: list[Item] = []
        self._second: list[Item] = []
        self._x = 0.0, 1.0
        self._y = 0.0, 1.0
        self._second_y = 0.0, 1.0
        self._picture = QPixmap()
        self._fresh = False

    @property
    def items(self) -> tuple[Item, ...]:
        return *self._items, *self._second

    @property
    def range_s(self) -> tuple[float, float]:
        """Seconds at the left and the right edge."""
        return self._x

    def add(self, item: Item, second: bool = False) -> None:
        """`second`: on the right scale, above all others."""
        (self._second if second else self._items).append(item)

    def remove(self, item: Item) -> None:
        for items in (self._items, self._second):
            if item in items:
                items.remove(item)
        self.changed()

    def set_range(self, x: tuple[float, float], y: tuple[float, float], second_y: tuple[float, float]) -> None:
        """Data at the edges: (left, right), (lower, upper), the same of the right scale."""
        self._x, self._y, self._second_y = x, y, second_y
        self.changed()

    def changed(self) -> None:
        """Data, ranges or colours are others: the next picture is painted anew."""
        self._fresh = False
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fresh = False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if painter.paintEngine().type() != QPaintEngine.Type.Raster:
            painter.setClipRect(self.rect())
            self._paint(painter, 1.0, vector=True)
        else:
            ratio = painter.device().devicePixelRatioF()
            if ratio != self.devicePixelRatioF():  # into a file, not onto the screen
                picture = QPixmap()
                self._paint_onto(picture, ratio)
                painter.drawPixmap(0, 0, picture)
            else:
                if not self._fresh or self._picture.devicePixelRatio() != ratio:
                    self._paint_onto(self._picture, ratio)
                    self._fresh = True
                painter.drawPixmap(0, 0, self._picture)
        painter.end()

    def _paint_onto(self, picture: QPixmap, ratio: float) -> None:
        """`picture` gets the size of the view, if it has another."""
        if picture.size() != self.size() * ratio:
            picture.swap(QPixmap(self.size() * ratio))
        picture.setDevicePixelRatio(ratio)
        painter = QPainter(picture)
        self._paint(painter, ratio, vector=False)
        painter.end()

    def _paint(self, painter: QPainter, ratio: float, vector: bool) -> None:
        painter.fillRect(self.rect(), ink.role("base"))
        width, height = max(self.width(), 1), max(self.height(), 1)
        start, end = self._x
        for items, (low, high) in ((self._items, self._y), (self._second, self._second_y)):
            way = Way(start, width / max(end - start, 1e-9), high, height / max(high - low, 1e-12), width, height,
                      ratio, vector)
            way.prepare([curve for item in items for curve in item.curves(way)])
            for item in items:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
                item.paint(painter, way)


class Backdrop:
    """Grid and gaps behind the curves."""

    def __init__(self) -> None:
        self._top = 1.0
        self._ticks: list[float] = []
        self._gaps: list[tuple[float, float]] = []

    def set_view(self, top: float, ticks: list[float], gaps: list[tuple[float, float]]) -> None:
        self._top, self._ticks, self._gaps = top, ticks, gaps

    def curves(self, way: Way) -> list[tuple[Floats, Floats]]:
        return []

    def paint(self, painter: QPainter, way: Way) -> None:
        for start, end in self._gaps:
            left = way.x_of(start)
            painter.fillRect(QRectF(left, 0, way.x_of(end) - left, way.height), ink.role("hover"))
        upper, middle, floor = (round(way.y_of(self._top * share)) for share in (1.0, 0.5, 0.0))
        painter.setPen(ink.pen(ink.role("grid")))
        for y in (upper, middle):
            painter.drawLine(0, y, way.width, y)
        for t in self._ticks:
            x = round(way.x_of(t))
            painter.drawLine(x, upper, x, floor)
        painter.setPen(ink.pen(ink.role("edge")))
        painter.drawLine(0, floor, way.width, floor)


class Level:
    """A line across the plot: a limit, what is usual, what was predicted. None or NaN: not shown."""

    def __init__(self, role: str, dashes: tuple[float, ...]) -> None:
        self._role, self._dashes = role, dashes
        self.value: float | None = None

    def curves(self, way: Way) -> list[tuple[Floats, Floats]]:
        return []

    def paint(self, painter: QPainter, way: Way) -> None:
        if self.value is None or np.isnan(self.value):
            return
        y = round(way.y_of(self.value))
        painter.setPen(ink.pen(ink.role(self._role), self._dashes))
        painter.drawLine(0, y, way.width, y)


class Diamond:
    """A mark at one point, (seconds, value), or nowhere."""

    _HALF = 4.0

    def __init__(self) -> None:
        self.at: tuple[float, float] | None = None

    def curves(self, way: Way) -> list[tuple[Floats, Floats]]:
        return []

    def paint(self, painter: QPainter, way: Way) -> None:
        if self.at is None:
            return
        x, y, half = way.x_of(self.at[0]), way.y_of(self.at[1]), self._HALF
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(ink.role("base"), 1))
        painter.setBrush(ink.role("text"))
        painter.drawPolygon(QPolygonF([QPointF(x, y - half), QPointF(x + half, y), QPointF(x, y + half),
                                       QPointF(x - half, y)]))
