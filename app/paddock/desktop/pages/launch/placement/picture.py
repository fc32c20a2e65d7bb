"""The map itself: row = device, column = layer, three bands. Place tells the device, colour the kind."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QScrollBar, QSizePolicy, QWidget

from paddock.desktop.pages.launch.placement import words
from paddock.desktop.pages.launch.placement.geometry import BAND_KINDS, Geometry
from paddock.desktop.pages.launch.placement.handles import SplitHandle
from paddock.desktop.pages.launch.placement.painting import Overlay, paint_map
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.placement_map import EMBEDDING, PlacementMap

_BAR = 10


class MapPicture(QWidget):
    """`pointed(row, column)`: what the mouse or the arrow keys are at, (-1, 0) for nothing. `split(shares)`: a handle
    was put down."""

    pointed = Signal(int, int)
    split = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.found = PlacementMap()
        self.chosen: int | None = None
        self._current: tuple[int, int] | None = None
        self._drag: tuple[int, ...] | None = None
        self._explicit = False
        self._still: QPixmap | None = None
        self._descriptions: dict[str, str] = {}
        self.handles: list[SplitHandle] = []
        self._bar = QScrollBar(Qt.Orientation.Horizontal, self)
        self._bar.setAccessibleName(tr("Scroll through the layers"))
        self._bar.valueChanged.connect(self._scrolled)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(theme().px(320))
        self.setAccessibleName(tr("Where each layer lives"))
        theme().changed.connect(self._restyle)

    # -- what is shown ---------------------------------------------------------------------------------------------

    def show_map(self, found: PlacementMap, descriptions: dict[str, str] | None = None, explicit: bool = False) -> None:
        """`descriptions`: what stands under a device's name. `explicit`: the split is the plan's own -ts."""
        self._explicit = explicit
        self.found, self._drag = found, None
        self._descriptions = descriptions or {}
        if self._current is not None and not self._valid(self._current):
            self._current = None
        self.setAccessibleDescription(tr("{map} Arrow keys go from cell to cell.", map=words.map_sentence(found)))
        self._make_handles()
        self._arrange()
        self._stale()

    def choose_pattern(self, number: int | None) -> None:
        """Outline what this pattern takes and gives."""
        if number != self.chosen:
            self.chosen = number
            self._stale()

    def shares(self) -> tuple[int, ...]:
        """Layers per device, as dragged so far."""
        return self._drag or self.found.shares

    def current(self) -> tuple[int, int] | None:
        """(row index, column) under the pointer or the keyboard's cursor."""
        return self._current

    def overlay(self) -> Overlay | None:
        """Cells that the chosen pattern fills and empties, by (row, band)."""
        pattern = next((p for p in self.found.patterns if p.number == self.chosen), None)
        if pattern is None or not pattern.moved:
            return None
        place = {row.name: i for i, row in enumerate(self.found.rows)}
        lands: dict[tuple[int, int], set[int]] = defaultdict(set)
        leaves: dict[tuple[int, int], set[int]] = defaultdict(set)
        for tensor in pattern.moved:
            edge = tensor.column in (EMBEDDING, self.found.output)
            band = 0 if edge else next(i for i, kinds in enumerate(BAND_KINDS) if tensor.kind in kinds)
            lands[place[tensor.target], band].add(tensor.column)
            leaves[place[tensor.source], band].add(tensor.column)
        return Overlay(pattern, dict(lands), dict(leaves))

    # -- geometry ----------------------------------------------------------------------------------------------------

    def geometry_now(self) -> Geometry:
        return Geometry(self.found, self.width(), self._bar.value())

    def sizeHint(self) -> QSize:
        return QSize(theme().px(900), self._needed())

    def _needed(self) -> int:
        return self.geometry_now().height + (_BAR if self.geometry_now().overflow else 0) + 2

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _restyle(self) -> None:
        self._arrange()
        self._stale()

    def _arrange(self) -> None:
        place = Geometry(self.found, self.width())
        self._bar.setRange(0, place.overflow)
        self._bar.setPageStep(place.plot)
        self._bar.setSingleStep(round(place.column_width))
        self._bar.setVisible(place.overflow > 0)
        self._bar.setGeometry(place.left, place.height + 1, place.plot, _BAR)
        if self.height() != self._needed():
            self.setFixedHeight(self._needed())
        self._place_handles()
        self._still = None

    @Slot()
    def _scrolled(self) -> None:
        self._place_handles()
        self._stale()

    # -- handles -----------------------------------------------------------------------------------------------------

    def _make_handles(self) -> None:
        names = list(self.found.devices)
        wanted = list(pairwise(names))
        if wanted != [h.property("between") for h in self.handles]:
            for old in self.handles:
                old.hide()
                old.deleteLater()
            self.handles = [self._handle(i, left, right) for i, (left, right) in enumerate(wanted)]

    def _handle(self, index: int, left: str, right: str) -> SplitHandle:
        made = SplitHandle(left, right, self)
        made.setProperty("between", (left, right))
        made.dragged.connect(lambda x, done: self._dragged(index, x, done))
        made.stepped.connect(lambda by: self._put(index, self.found.boundaries[index] + by))
        return made

    def boundaries(self) -> tuple[int, ...]:
        """As dragged so far."""
        if self._drag is None:
            return self.found.boundaries
        out, at = [], self.found.first
        for share in self.shares()[:-1]:
            at += share
            out.append(at)
        return tuple(out)

    def _place_handles(self) -> None:
        place = self.geometry_now()
        shares = ", ".join(tr("{device} {layers}", device=d, layers=n)
                           for d, n in zip(self.found.devices, self.shares(), strict=False))
        boundaries = self.boundaries()
        for made in self.handles[len(boundaries):]:
            made.hide()
        for made, layer in zip(self.handles, boundaries, strict=False):
            x = place.x(layer)
            made.resize(made.sizeHint())
            made.move(round(x - made.width() / 2), place.axis - made.height())
            made.setVisible(place.left - 1 <= x <= place.right + 1)
            made.show_shares(shares)

    def _dragged(self, index: int, x: float, done: bool) -> None:
        layer = self.geometry_now().layer_at(x)
        if done:
            self._put(index, layer)
            return
        self._drag = self.found.split_at(index, layer)
        self._place_handles()
        self._stale()

    def _put(self, index: int, layer: int) -> None:
        shares = self.found.split_at(index, layer)
        self._drag = None
        if shares != self.found.shares and any(shares):
            self.split.emit(shares)
        self._place_handles()
        self._stale()

    # -- pointing ----------------------------------------------------------------------------------------------------

    def _valid(self, cell: tuple[int, int]) -> bool:
        return 0 <= cell[0] < len(self.found.rows) and cell[1] in self.found.columns

    def point(self, cell: tuple[int, int] | None) -> None:
        """Go to this cell, as the mouse or the keys do."""
        cell = cell if cell is not None and self._valid(cell) else None
        if cell != self._current:
            self._current = cell
            self.pointed.emit(*(cell or (-1, 0)))
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        found = self.geometry_now().at(event.position().x(), event.position().y())
        if found is not None or not self.hasFocus():
            self.point(found)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, column = self._current or (0, 0)
        last = len(self.found.rows) - 1
        targets = {Qt.Key.Key_Left: (row, column - 1), Qt.Key.Key_Right: (row, column + 1),
                   Qt.Key.Key_Up: (max(row - 1, 0), column), Qt.Key.Key_Down: (min(row + 1, last), column),
                   Qt.Key.Key_Home: (row, EMBEDDING), Qt.Key.Key_End: (row, self.found.output)}
        target = targets.get(Qt.Key(event.key()))
        if target is None or not self.found.rows:
            super().keyPressEvent(event)
            return
        target = (0, 0) if self._current is None else target
        if self._valid(target):
            self.point(target)
            self._reveal(target[1])

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        sideways = delta.x() or (delta.y() if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 0)
        if sideways and self._bar.maximum():
            self._bar.setValue(self._bar.value() - round(sideways / 120 * 3 * self.geometry_now().column_width))
            event.accept()
        else:
            event.ignore()

    def _reveal(self, column: int) -> None:
        place = self.geometry_now()
        x = place.x(column)
        if x < place.left:
            self._bar.setValue(round(self._bar.value() - (place.left - x)))
        elif x + place.column_width > place.right:
            self._bar.setValue(round(self._bar.value() + x + place.column_width - place.right))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def _stale(self) -> None:
        self._still = None
        self.update()

    def _picture(self, place: Geometry) -> QPixmap:
        """All but the cursor, kept until something else changes: the pointer only moves a frame over it."""
        ratio = self.devicePixelRatioF()
        if self._still is None or self._still.devicePixelRatio() != ratio:
            made = QPixmap(self.size() * ratio)
            made.setDevicePixelRatio(ratio)
            made.fill(Qt.GlobalColor.transparent)
            painter = QPainter(made)
            paint_map(painter, place, self._descriptions, self.overlay(), self.shares(), self.boundaries(),
                      self._explicit or self._drag is not None)
            painter.end()
            self._still = made
        return self._still

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        place = self.geometry_now()
        painter.drawPixmap(0, 0, self._picture(place))
        t = theme()
        if self._current is not None:
            row, column = self._current
            lane = place.lane(row)
            painter.setClipRect(QRectF(place.left - 1, 0, place.plot + 2, self.height()))
            painter.setPen(QPen(t.color("text"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(place.x(column) - 0.5, lane.top() + 0.5, place.column_width, lane.height() - 1))
            painter.setClipping(False)
        if self.hasFocus():
            painter.setPen(QPen(t.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(place.left - 2, place.axis - 1, place.plot + 4, place.height - place.axis))
