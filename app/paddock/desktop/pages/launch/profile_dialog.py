"""The frame of the profile dialogs, and the table of what differs that several of them show."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QLayout,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QSplitter,
    QWidget,
)

from paddock.desktop.pages.launch.changed import change_words, setting_words
from paddock.desktop.parts.basic import Label, button, calm_view, column, empty_layout, row, rule
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.comparing import Change
from paddock.launch.model import Setting


class ProfileDialog(QDialog):
    """Title, a body, and below a line of buttons that ends with Close (or Cancel)."""

    def __init__(self, title: str, parent: QWidget | None, size: tuple[int, int], closing: str = "") -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(theme().px(size[0]), theme().px(size[1]))
        self.body = column(gap=12)
        self.acts = row(None)
        self.close_button = button(closing or tr("Close"), None, self.reject)
        self.acts.addWidget(self.close_button)
        whole = column(self.body, rule(), self.acts, gap=12, margins=(16, 16, 16, 12))
        whole.setStretch(0, 1)
        self.setLayout(whole)
        QShortcut(QKeySequence.StandardKey.Close, self, self.reject)

    def add_act(self, made: QWidget) -> None:
        """A button left of Close."""
        self.acts.insertWidget(self.acts.count() - 1, made)

    def show_beside(self, left: QWidget, right: QWidget, widths: tuple[int, int]) -> None:
        """Both in the body, with a boundary that can be moved; the right one takes what room there is."""
        split = QSplitter()
        split.setChildrenCollapsible(False)
        split.addWidget(left)
        split.addWidget(right)
        split.setStretchFactor(1, 1)
        split.setSizes([theme().px(width) for width in widths])
        self.body.addWidget(split)


def scrolled(layout: QLayout, name: str = "") -> QScrollArea:
    """A layout that scrolls up and down when there is no room for it."""
    inner = QWidget()
    inner.setLayout(column(layout, None, margins=(0, 0, 8, 0)))
    return scrolling(inner, name)


class TallList(QListWidget):
    """A list with rows of the look's height, one or two lines each, which shortens instead of scrolling sideways."""

    def __init__(self, name: str, lines: int = 1) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._height = theme().px(28 if lines == 1 else 44)
        calm_view(self)

    def add(self, text: str) -> None:
        """A row; its whole text is the tooltip."""
        item = QListWidgetItem(text)
        item.setSizeHint(QSize(0, self._height))
        item.setToolTip(text)
        self.addItem(item)


class Differences(QWidget):
    """Flag, name, before, after: a row for each thing that differs; a sentence where nothing does."""

    def __init__(self, nothing: str) -> None:
        super().__init__()
        self._nothing = nothing
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme().px(16))
        self._grid.setVerticalSpacing(theme().px(6))
        self.setLayout(column(scrolled(self._grid, tr("What differs")), gap=0))

    def show_changes(self, changes: Sequence[Change], before: str, after: str) -> None:
        """`before`, `after`: headings."""
        empty_layout(self._grid)
        self.setAccessibleDescription("; ".join(_sentence(change) for change in changes) or self._nothing)
        if not changes:
            self._grid.addWidget(Label(self._nothing, "note", "text2", wrap=True), 0, 0)
            return
        for place, text in enumerate((tr("Setting"), "", before, after)):
            self._grid.addWidget(Label(text, "note", "text2", weight=600, elide="middle" if place > 1 else None), 0,
                                 place)
        for index, change in enumerate(changes, 1):
            flag, name = change_words(change)
            old, new = _both(change)
            for place, widget in enumerate((
                    Label(flag, "mono", "accent"), Label(name, "note"), Label(old, "mono", "text2", elide="middle"),
                    Label(new, "mono", elide="middle"))):
                self._grid.addWidget(widget, index, place)
        for place, share in enumerate((0, 0, 1, 1)):
            self._grid.setColumnStretch(place, share)


def _both(change: Change) -> tuple[str, str]:
    return (_words(change.all_before or ((change.before,) if change.before else ())),
            _words(change.all_after or ((change.after,) if change.after else ())))


def _words(settings: tuple[Setting, ...]) -> str:
    """Every repetition of an option, one behind the other."""
    return "  ·  ".join(setting_words(setting) for setting in settings) if settings else setting_words(None)


def _sentence(change: Change) -> str:
    flag, _ = change_words(change)
    old, new = _both(change)
    return tr("{flag}: {before}, then {after}", flag=flag, before=old, after=new)
