"""The heading of a group in the list: folds it, counts hits and changes, takes changes back."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from paddock.desktop.icons import paint_icon
from paddock.desktop.parts.basic import tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr


def paint_chip(painter: QPainter, text: str, right: int, middle: float, tone: str = "sel") -> int:
    """A rounded count that ends at `right`; returns its left edge."""
    t = theme()
    painter.setFont(t.font("caption", 500))
    width = painter.fontMetrics().horizontalAdvance(text) + t.px(14)
    height = t.px(17)
    place = QRectF(right - width, middle - height / 2, width, height)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(t.color(tone))
    painter.drawRoundedRect(place, height / 2, height / 2)
    painter.setPen(t.color("accent"))
    painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
    return right - width


class GroupHeading(QAbstractButton):
    """Pressed: the group folds. `taken_back` and `cleared` carry the group's key."""

    folded = Signal(str)
    taken_back = Signal(str)
    cleared = Signal(str)

    def __init__(self, key: str, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.key, self.name = key, name
        self._count, self._changes, self._open = "", 0, True
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.undo = tool_button("undo-2", tr("Take back all changes in {group}", group=name), self._undo)
        self.clear = tool_button("x", tr("Take out everything that is set in {group}", group=name), self._clear)
        for made in (self.undo, self.clear):
            made.setParent(self)
            made.hide()
        self.clicked.connect(self._fold)
        theme().changed.connect(self.update)

    def _fold(self) -> None:
        self.folded.emit(self.key)

    def _undo(self) -> None:
        self.taken_back.emit(self.key)

    def _clear(self) -> None:
        self.cleared.emit(self.key)

    def show_counts(self, shown: int, total: int, changes: int, settings: int, is_open: bool) -> None:
        """`settings`: how many options of the group the plan sets."""
        self._count = tr("{shown} of {total}", shown=shown, total=total) if shown != total else str(total)
        self._changes, self._open = changes, is_open
        self.undo.setVisible(changes > 0)
        self.clear.setVisible(settings > 0 and changes == 0)
        parts = [self.name, self._count, _changed(changes), tr("folded") if not is_open else ""]
        self.setAccessibleName(", ".join(part for part in parts if part))
        self._place()
        self.update()

    def stops(self) -> list[QWidget]:
        """What Tab visits, in order."""
        return [self, self.undo, self.clear]

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        elif event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)

    def _place(self) -> None:
        side = theme().px(24)
        for made in (self.undo, self.clear):
            made.setGeometry(self.width() - theme().px(12) - side, (self.height() - side) // 2, side, side)

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), t.color("window"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, t.color("line"))
        side = t.px(12)
        paint_icon(painter, "chevron-down" if self._open else "chevron-right",
                   QRectF(t.px(17), (self.height() - side) / 2, side, side), "text2")
        painter.setFont(t.font("body", 600))
        painter.setPen(t.color("text"))
        left = t.px(38)
        painter.drawText(QRect(left, 0, self.width(), self.height()), Qt.AlignmentFlag.AlignVCenter, self.name)
        left += painter.fontMetrics().horizontalAdvance(self.name) + t.px(8)
        painter.setFont(t.font("note"))
        painter.setPen(t.color("text2"))
        painter.drawText(QRect(left, 0, self.width(), self.height()), Qt.AlignmentFlag.AlignVCenter, self._count)
        if self._changes:
            paint_chip(painter, _changed(self._changes), self.width() - t.px(42), self.height() / 2)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(t.color("accent"), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))


def _changed(count: int) -> str:
    return tr("{count} changed", plural="{count} changed", count=count) if count else ""
