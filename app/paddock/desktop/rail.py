"""The rail: our mark, an icon over a word for each page."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from paddock.desktop.icons import paint_icon
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

RAIL, RAIL_NARROW = 64, 48
PAGE_ICONS = {"models": "boxes", "launch": "rocket", "run": "activity", "sessions": "history", "bench": "scale",
               "settings": "sliders-horizontal"}


def page_word(name: str) -> str:
    """The word under a page's icon."""
    return {"models": tr("Models"), "launch": tr("Launch"), "run": tr("Run"), "sessions": tr("Sessions"),
            "bench": tr("Bench"), "settings": tr("Settings")}[name]


class Mark(QWidget):
    """Our mark at the top of the rail."""

    def paintEvent(self, _event: QPaintEvent) -> None:
        side = theme().px(28)
        rect = self.rect()
        rect.setRect((self.width() - side) // 2, (self.height() - side) // 2, side, side)
        paint_icon(QPainter(self), "paddock", rect, "text")


class RailButton(QAbstractButton):
    """An icon over a word; `dot` is the role of a small mark, None for no mark."""

    def __init__(self, text: str, icon_name: str, shortcut: str) -> None:
        super().__init__()
        self._dot: str | None = None
        self._icon = icon_name
        self._narrow = False
        self.setText(text)
        self.setCheckable(True)
        self.setAccessibleName(text)
        self.setToolTip(f"{text} ({shortcut})")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def wanted_width(self) -> int:
        """What the word takes when it is bold, with air on both sides."""
        return QFontMetrics(theme().font("caption", 600)).horizontalAdvance(self.text()) + 2 * theme().px(7)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(RAIL), theme().px(48 if self._narrow else 56))

    def set_narrow(self, narrow: bool) -> None:
        """The icon alone; the word is in the tooltip."""
        if narrow != self._narrow:
            self._narrow = narrow
            self.updateGeometry()

    def set_dot(self, role: str | None, words: str = "") -> None:
        if role != self._dot:
            self._dot = role
            self.update()
        self.setAccessibleDescription(words)

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        chosen = self.isChecked()
        if chosen or self.underMouse():
            painter.fillRect(self.rect(), t.color("sel" if chosen else "hover"))
        if chosen:
            painter.fillRect(0, 0, 3, self.height(), t.color("accent"))
        role = "accent" if chosen else "text2"
        side = t.px(20)
        top = (self.height() - side) // 2 if self._narrow else t.px(9)
        left = (self.width() - side) // 2
        paint_icon(painter, self._icon, QRect(left, top, side, side), role)
        if not self._narrow:
            painter.setPen(t.color(role))
            painter.setFont(t.font("caption", 600 if chosen else 400))
            words = QRect(0, top + side + t.px(4), self.width(), painter.fontMetrics().height())
            painter.drawText(words, Qt.AlignmentFlag.AlignCenter, self.text())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._dot is not None:
            painter.setPen(QPen(t.color("sel" if chosen else "window"), 1.5))
            painter.setBrush(t.color(self._dot))
            painter.drawEllipse(QRectF(left + side - t.px(3), top - t.px(2), t.px(8), t.px(8)))
        if self.hasFocus():
            painter.setPen(QPen(t.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
