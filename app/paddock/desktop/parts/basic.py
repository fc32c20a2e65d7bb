"""Labels, buttons, rules: what every page is built of."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from paddock.desktop.icons import icon, paint_icon
from paddock.desktop.theme import theme

_FIGURE = re.compile(r"(?<=\d) (?=(?:%|[KMGT]iB|t/s|ms|s|min|h|W|°C)(?!\w))")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def kept_together(text: str) -> str:
    """The text with figures and their units, and the parts of a flag, on one line: "60.5 %", "--cache-ram"."""
    return _FLAG.sub(lambda flag: flag[0].replace("-", "-\u2060"), _FIGURE.sub("\u00a0", text))


class Label(QLabel):
    """A text of one of the five kinds in a role's colour; `wrap` lets it break, else it shortens in the middle or end.

    `elide`: None (never shortened), "end" or "middle"; the full text is then the tooltip.
    """

    def __init__(self, text: str = "", kind: str = "body", role: str = "text", *, weight: int = 400, wrap: bool = False,
                 elide: str | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind, self._role, self._weight, self._elide, self._full = kind, role, weight, elide, ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        if wrap:
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        if elide:
            self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            self.setMinimumWidth(24)
        theme().changed.connect(self._themed)
        self.restyle()
        self.setText(text)

    def setText(self, text: str) -> None:
        if text == self._full:
            return
        self._full = text
        self.setAccessibleName(text if self.textFormat() == Qt.TextFormat.PlainText else "")
        super().setText(kept_together(text) if self.wordWrap() else text)
        if self._elide:
            self._shorten()

    def full_text(self) -> str:
        """The text before it was shortened."""
        return self._full

    def look(self, kind: str | None = None, role: str | None = None, weight: int | None = None) -> None:
        """Change kind, colour role or weight."""
        wanted = (kind or self._kind, role or self._role, self._weight if weight is None else weight)
        if wanted != (self._kind, self._role, self._weight):
            self._kind, self._role, self._weight = wanted
            self.restyle()

    @Slot()
    def _themed(self) -> None:
        # Not overridden: a slot that a subclass replaces is not disconnected when the label goes.
        self.restyle()

    def restyle(self) -> None:
        """Take font and colour from the theme."""
        self.setFont(theme().font(self._kind, self._weight))
        palette = QPalette(theme().palette())
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
            palette.setColor(group, QPalette.ColorRole.WindowText, theme().color(self._role))
        self.setPalette(palette)
        if self._elide:
            self._shorten()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._elide:
            self._shorten()

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        if self.wordWrap():
            # Height follows width in layouts; the guess that QLabel makes without a width is far too high.
            hint = QSize(min(hint.width(), 60), self.fontMetrics().lineSpacing())
        return hint

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        if self._elide:
            hint.setWidth(self.fontMetrics().horizontalAdvance(self._full) + 2)
        return hint

    def _shorten(self) -> None:
        mode = Qt.TextElideMode.ElideMiddle if self._elide == "middle" else Qt.TextElideMode.ElideRight
        shown = self.fontMetrics().elidedText(self._full, mode, max(0, self.width()))
        if shown != self.text():
            super().setText(shown)
        tip = self._full if shown != self._full else ""
        if tip != self.toolTip():
            self.setToolTip(tip)


class IconLabel(QWidget):
    """An icon alone, in a role's colour; it has a name only if it says something that no text beside it says."""

    def __init__(self, name: str, size: int = 16, role: str = "text2", says: str = "",
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._size, self._role = name, size, role
        self.setAccessibleName(says)
        self.setFixedSize(theme().px(size), theme().px(size))

    def show_icon(self, name: str, role: str) -> None:
        if (name, role) != (self._name, self._role):
            self._name, self._role = name, role
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_icon(painter, self._name, self.rect(), self._role)


def _properties(widget: QWidget, **values: bool) -> None:
    for name, value in values.items():
        if value:
            widget.setProperty(name, True)


def button(text: str, icon_name: str | None = None, clicked: Callable[[], Any] | None = None, *, primary: bool = False,
           quiet: bool = False, small: bool = False, link: bool = False, name: str | None = None,
           role: str | None = None) -> QPushButton:
    """A button. Without text it is square and `name` is what screen readers and the tooltip say."""
    made = QPushButton(text.replace("&", "&&"))
    _properties(made, primary=primary, quiet=quiet, small=small, link=link, square=not text)
    made.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    if icon_name:
        made.setIcon(icon(icon_name, role or ("on_accent" if primary else "text")))
        side = theme().px(14 if small else 16)
        # Room between icon and text: the icon is drawn at the left of a wider place.
        made.setIconSize(QSize(side + (theme().px(5) if text else 0), side))
    made.setAccessibleName(name or text)
    if name and not text:
        made.setToolTip(name)
    made.setAutoDefault(False)
    if clicked is not None:
        made.clicked.connect(lambda _checked=False: clicked())
    return made


def shorten_button(made: QPushButton, text: str, short: bool) -> None:
    """The icon alone where there is no room for the word, which is then the tooltip."""
    if bool(made.property("square")) == short and made.text() == ("" if short else text):
        return
    made.setText("" if short else text)
    made.setToolTip(text if short else "")
    made.setProperty("square", short)
    side = made.iconSize().height()
    made.setIconSize(QSize(side + (0 if short else theme().px(5)), side))
    made.style().unpolish(made)
    made.style().polish(made)


def tool_button(icon_name: str, name: str, clicked: Callable[[], Any] | None = None, *, quiet: bool = True,
                small: bool = True, role: str = "text2") -> QToolButton:
    """A small square button with an icon, named for tooltip and screen reader."""
    made = QToolButton()
    _properties(made, quiet=quiet, small=small, square=True)
    made.setIcon(icon(icon_name, role))
    side = theme().px(14 if small else 16)
    made.setIconSize(QSize(side, side))
    made.setToolTip(name)
    made.setAccessibleName(name)
    made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    if clicked is not None:
        made.clicked.connect(lambda _checked=False: clicked())
    return made


def rule(vertical: bool = False) -> QFrame:
    """A one-pixel line."""
    made = QFrame()
    made.setProperty("rule", True)
    if vertical:
        made.setFixedWidth(1)
    else:
        made.setFixedHeight(1)
    return made


def row(*items: QWidget | QLayout | int | None, gap: int = 8,
        margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> QHBoxLayout:
    """Widgets beside each other; None stretches, a number is a space."""
    box = QHBoxLayout()
    _fill(box, items, gap, margins)
    return box


def column(*items: QWidget | QLayout | int | None, gap: int = 8,
           margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> QVBoxLayout:
    """Widgets below each other; None stretches, a number is a space."""
    box = QVBoxLayout()
    _fill(box, items, gap, margins)
    return box


def _fill(box: QBoxLayout, items: tuple[QWidget | QLayout | int | None, ...], gap: int,
          margins: tuple[int, int, int, int]) -> None:
    box.setSpacing(gap)
    box.setContentsMargins(*margins)
    for item in items:
        if item is None:
            box.addStretch(1)
        elif isinstance(item, int):
            box.addSpacing(item)
        elif isinstance(item, QLayout):
            box.addLayout(item)
        else:
            box.addWidget(item)


def panel(kind: str = "base", layout: QLayout | None = None) -> QFrame:
    """A surface: "base" (pages) or "window" (rail, dock, headers)."""
    made = QFrame()
    made.setProperty("panel", kind)
    if layout is not None:
        made.setLayout(layout)
    return made


def empty_layout(layout: QLayout) -> None:
    """Take everything out of a layout and let it go."""
    while (item := layout.takeAt(0)) is not None:
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()
        elif inner is not None:
            empty_layout(inner)


class _PaletteFollower(QObject):
    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._view = view

    @Slot()
    def apply(self) -> None:
        self._view.setPalette(theme().view_palette())


def calm_view(view: QAbstractItemView) -> None:
    """Give an item view the quiet selection colours, now and after each switch of the theme."""
    view.setPalette(theme().view_palette())
    follower = _PaletteFollower(view)
    theme().changed.connect(follower.apply)
