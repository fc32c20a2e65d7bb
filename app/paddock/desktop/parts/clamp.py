"""A text in at most so many lines, shortened at the end; the whole of it is in the tooltip."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QSizePolicy, QWidget

from paddock.desktop.parts.basic import kept_together
from paddock.desktop.theme import theme


class ClampLabel(QWidget):
    """`setText(first, second)`: the second sentence is quieter and goes first when there is no room."""

    def __init__(self, lines: int = 2, kind: str = "note", role: str = "text", top: bool = False,
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._most, self._kind, self._role, self._top = lines, kind, role, top
        self._text, self._second = "", ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(theme().px(90))
        theme().changed.connect(self._restyle)

    def setText(self, text: str, second: str = "") -> None:
        if (text, second) == (self._text, self._second):
            return
        self._text, self._second = text, second
        whole = f"{text} {second}".strip()
        self.setAccessibleName(whole)
        self.setToolTip(whole)
        self.update()

    def full_text(self) -> str:
        """Both sentences, unshortened."""
        return f"{self._text} {self._second}".strip()

    def text(self) -> str:
        return self.full_text()

    @Slot()
    def _restyle(self) -> None:
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        self.setFont(theme().font(self._kind))
        return QSize(theme().px(240), self.fontMetrics().lineSpacing() * self._most + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.minimumWidth(), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        font = t.font(self._kind)
        painter.setFont(font)
        lines = self._break(self._text)
        own = len(lines)
        both = self._break(f"{self._text} {self._second}") if self._second else lines
        if self._second and len(both) <= self._most:
            after = self._break(self._second)
            lines = lines + after if own + len(after) <= self._most else both
        spacing = painter.fontMetrics().lineSpacing()
        shown = lines[:self._most]
        top = 0.0 if self._top else max(0.0, (self.height() - spacing * len(shown)) / 2)
        for index, line in enumerate(shown):
            last = index == self._most - 1 and len(lines) > self._most
            if last:
                rest = " ".join(lines[index:])
                line = painter.fontMetrics().elidedText(rest, Qt.TextElideMode.ElideRight, self.width())
            painter.setPen(t.color("text2" if self._second and lines is not both and index >= own else self._role))
            place = QRectF(0, top + index * spacing, self.width(), spacing)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, line)

    def _break(self, text: str) -> list[str]:
        layout = QTextLayout(kept_together(text), theme().font(self._kind))
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WordWrap)
        layout.setTextOption(option)
        layout.beginLayout()
        found = []
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(10, self.width()))
            line.setPosition(QPointF(0, 0))
            found.append(text[line.textStart():line.textStart() + line.textLength()].rstrip())
        layout.endLayout()
        return found
