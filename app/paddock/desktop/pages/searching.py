"""The search box of the pages: a magnifying glass in front, Escape empties it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from paddock.desktop.icons import paint_icon
from paddock.desktop.theme import theme


class SearchEdit(QLineEdit):
    """`hint` is the placeholder, `name` what screen readers say."""

    def __init__(self, hint: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(hint)
        self.setAccessibleName(name)
        self.setClearButtonEnabled(True)
        self.setTextMargins(theme().px(18), 0, 0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        side = theme().px(14)
        painter = QPainter(self)
        paint_icon(painter, "search", QRectF(theme().px(9), (self.height() - side) / 2, side, side), "text2")
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)
