"""The pane over all plots: cross-hair, event lines, zoom by dragging, wheel and keys. It draws nothing of the data."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QWidget

from paddock.desktop.plots import ink, sizes
from paddock.text import Text

_DRAG_LEAST = 6
"""Pixels; less is a click."""


class Glass(QWidget):
    """Knows the window in sight and tells what the pointer and the keys ask for."""

    hovered = Signal(object)
    """Seconds under the pointer, or None when it left."""
    zoomed = Signal(float, float)
    """A range was dragged: seconds."""
    scaled = Signal(float, float)
    """Factor (below 1: closer) around a moment."""
    moved = Signal(float)
    """Shift by a share of the window."""
    follow_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._start, self._end = 0.0, 1.0
        self._marks: list[float] = []
        self._gaps: list[tuple[float, float]] = []
        self.gap_bottom = 0
        self.top = 0
        """Where the plots begin, under the flags."""
        self._hair: float | None = None
        self._press: float | None = None
        self._drag: float | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(str(Text("Plots over time")))

    def set_view(self, start: float, end: float, marks: list[float], gaps: list[tuple[float, float]]) -> None:
        """What is in sight, where events stand, where the server gave no answer (all in seconds)."""
        if (start, end, marks, gaps) != (self._start, self._end, self._marks, self._gaps):
            before = self._drawn_at()
            self._start, self._end, self._marks, self._gaps = start, end, marks, gaps
            after = self._drawn_at()
            # All below would be painted again with it.
            if before is None or after is None:
                self.update()
            else:
                for x in before ^ after:
                    self.update(x - 1, 0, 3, self.height())

    def _drawn_at(self) -> set[int] | None:
        """Where lines stand, pixels; None where more than lines is drawn."""
        if self._gaps or self._press is not None or self._hair is not None:
            return None
        return set(self._mark_places())

    def _mark_places(self) -> list[int]:
        """The pixel of each mark in sight."""
        left = sizes.left()
        scale = (self.width() - left - sizes.right()) / max(self._end - self._start, 1e-9)
        return [round(left + (t - self._start) * scale) for t in self._marks if self._start <= t <= self._end]

    @property
    def hair(self) -> float | None:
        """The moment under the cross-hair, seconds."""
        return self._hair

    def x_of(self, t: float) -> float:
        room = self.width() - sizes.left() - sizes.right()
        return sizes.left() + (t - self._start) / max(self._end - self._start, 1e-9) * room

    def t_of(self, x: float) -> float:
        share = (x - sizes.left()) / max(self.width() - sizes.left() - sizes.right(), 1)
        return self._start + min(max(share, 0.0), 1.0) * (self._end - self._start)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._paint_gap_words(painter)
        painter.setPen(ink.pen(ink.role("text2"), ink.EVENT_DASH))
        for place in self._mark_places():
            painter.drawLine(place, self.top, place, self.height())
        if self._press is not None and self._drag is not None:
            left, right = sorted((self._press, self._drag))
            painter.fillRect(QRectF(left, 0, right - left, self.height()), ink.tint(ink.role("accent"), 0.12))
            painter.setPen(QPen(ink.role("accent"), 1))
            for x in (left, right):
                painter.drawLine(QPointF(x, 0), QPointF(x, self.height()))
        elif self._hair is not None and self._start <= self._hair <= self._end:
            painter.setPen(QPen(ink.role("accent"), 1))
            x = round(self.x_of(self._hair)) + 0.5
            painter.drawLine(QPointF(x, 0), QPointF(x, self.height()))
        if self.hasFocus():
            painter.setPen(QPen(ink.role("accent"), 2))
            painter.drawRect(QRectF(1, 1, self.width() - 2, self.height() - 2))
        painter.end()

    def _paint_gap_words(self, painter: QPainter) -> None:
        """"no answer" at the foot of the first plot, where the gap is wide enough."""
        if not self._gaps:
            return
        painter.setFont(ink.caption())
        painter.setPen(ink.role("text2"))
        words = str(Text("no answer"))
        wide = painter.fontMetrics().horizontalAdvance(words) + 4
        for start, end in self._gaps:
            left, right = max(self.x_of(start), sizes.left()), min(self.x_of(end), self.width() - sizes.right())
            if right - left >= wide:
                box = QRectF(left, self.gap_bottom - 24, right - left, 14)
                painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), words)

    def _set_hair(self, t: float | None) -> None:
        if t != self._hair:
            self._hair = t
            self.hovered.emit(t)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        x = event.position().x()
        if self._press is not None and abs(x - self._press) >= _DRAG_LEAST:
            self._drag = min(max(x, sizes.left()), self.width() - sizes.right())
        inside = sizes.left() <= x <= self.width() - sizes.right()
        self._set_hair(self.t_of(x) if inside else None)
        if self._drag is not None:
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        press, drag = self._press, self._drag
        self._press = self._drag = None
        if press is not None and drag is not None:
            left, right = sorted((press, drag))
            self.zoomed.emit(self.t_of(left), self.t_of(right))
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._press = self._drag = None
        self.follow_asked.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        if abs(delta.x()) > abs(delta.y()):
            self.moved.emit(-delta.x() / 120 * 0.1)
        elif delta.y():
            self.scaled.emit(0.8 ** (delta.y() / 120), self.t_of(event.position().x()))
        event.accept()

    def leaveEvent(self, event: object) -> None:
        self._set_hair(None)

    def focusInEvent(self, event: object) -> None:
        self.update()

    def focusOutEvent(self, event: object) -> None:
        self._set_hair(None)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move the cross-hair, + and - zoom, Page keys shift, Escape or End follows again."""
        key = event.key()
        step = (self._end - self._start) / 60
        at = self._hair if self._hair is not None else self._end
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            moved = at + (step if key == Qt.Key.Key_Right else -step)
            self._set_hair(min(max(moved, self._start), self._end))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.scaled.emit(1.25 if key == Qt.Key.Key_Minus else 0.8, at)
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self.moved.emit(-0.5 if key == Qt.Key.Key_PageUp else 0.5)
        elif key in (Qt.Key.Key_Escape, Qt.Key.Key_End):
            self._set_hair(None)
            self.follow_asked.emit()
        else:
            super().keyPressEvent(event)
