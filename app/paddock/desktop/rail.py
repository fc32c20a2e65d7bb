"""The rail: our mark, an icon over a word for each page."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QFrame, QSizePolicy, QVBoxLayout, QWidget

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


class Rail(QFrame):
    """The pages in the order of the journey, settings at the foot; made anew when the language changes."""

    chosen = Signal(str)
    """a page's name"""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.setProperty("panel", "window")
        self.setFixedWidth(theme().px(RAIL))
        self.buttons: dict[str, RailButton] = {}
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        mark = Mark()
        mark.setFixedHeight(theme().px(56))
        box.addWidget(mark)
        for number, name in enumerate(names, 1):
            if name == "settings":
                box.addStretch(1)
            made = RailButton(page_word(name), PAGE_ICONS[name], f"Ctrl+{number}")
            made.clicked.connect(lambda _checked=False, chosen=name: self.chosen.emit(chosen))
            self._group.addButton(made)
            self.buttons[name] = made
            box.addWidget(made)

    def set_narrow(self, narrow: bool) -> None:
        """Icons alone, else as wide as the widest word."""
        wide = max(theme().px(RAIL), *(made.wanted_width() for made in self.buttons.values()))
        self.setFixedWidth(theme().px(RAIL_NARROW) if narrow else wide)
        for made in self.buttons.values():
            made.set_narrow(narrow)
