"""The handle on the boundary between two devices: dragged or moved with the arrow keys, it writes -ts."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

WIDTH = 15


class SplitHandle(QWidget):
    """`dragged(x, done)`: x in the parent's pixels; `stepped(by)`: layers to the right, from the keyboard."""

    dragged = Signal(float, bool)
    stepped = Signal(int)

    def __init__(self, left: str, right: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.SizeHorCursor)
        self._grabbed = False
        self.setAccessibleName(tr("Boundary between {left} and {right} (-ts)", left=left, right=right))
        self.setToolTip(tr("Drag, or Left and Right: layers of {left} and {right} (-ts)", left=left, right=right))
        self.resize(self.sizeHint())

    def show_shares(self, text: str) -> None:
        """What a screen reader says of its place: the layers of each device."""
        self.setAccessibleDescription(text)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(WIDTH), theme().px(16))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._grabbed = event.button() == Qt.MouseButton.LeftButton

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grabbed:
            self.dragged.emit(self.mapToParent(event.position()).x(), False)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._grabbed:
            self._grabbed = False
            self.dragged.emit(self.mapToParent(event.position()).x(), True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.stepped.emit(step)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle, half, low = self.width() / 2, self.width() / 2 - 2, self.height() - 1
        shape = QPolygonF([QPointF(middle - half, 1), QPointF(middle + half, 1), QPointF(middle + half, low * 0.55),
                           QPointF(middle, low), QPointF(middle - half, low * 0.55)])
        painter.setBrush(t.color("text"))
        painter.setPen(QPen(t.color("accent"), 2) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.drawPolygon(shape)
