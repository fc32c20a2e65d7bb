"""What differs from the saved profile, each with its undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from paddock.desktop.parts.basic import IconLabel, Label, column, empty_layout, rule, tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.desktop.whatif import Change, undone
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.model import Setting
from paddock.launch.variables import BY_NAME

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_MOST = 8


def setting_words(setting: Setting | None) -> str:
    """"65536", "on", "off", "not set"; a key is never shown."""
    if setting is None:
        return tr("not set")
    if not setting.values:
        return tr("on") if setting.on else tr("off")
    option = CATALOGUE.get(setting.option)
    variable = BY_NAME.get(setting.option)
    secret = (option is not None and option.secret) or (variable is not None and variable.secret)
    return "•••" if secret and ":" not in setting.values[0] else " ".join(setting.values)


def change_words(change: Change) -> tuple[str, str]:
    """(as it is written, name): "-c" and "Context"."""
    if change.kind == "prefix":
        return tr("prefix"), tr("Program in front")
    if change.kind == "engine":
        return tr("engine"), tr("Engine")
    if change.kind == "variable":
        variable = BY_NAME.get(change.option)
        return change.option, str(variable.label) if variable is not None else tr("Variable")
    option = CATALOGUE.get(change.option)
    return (option.names[0], str(option.label)) if option is not None else (change.option, "")


class ChangesPane(QWidget):
    """Hidden while nothing differs."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._shown: list[Change] = []
        self._title = Label("", "note", weight=600)
        self._since = Label(tr("since it was saved"), "note", "text2")
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(0)
        body = QWidget()
        line = QGridLayout(body)
        line.setContentsMargins(0, 8, 0, 8)
        line.setHorizontalSpacing(16)
        words = column(self._title, self._since, None, gap=0)
        line.addLayout(words, 0, 0)
        line.addLayout(self._grid, 0, 1)
        line.setColumnMinimumWidth(0, theme().px(108))
        line.setColumnStretch(1, 1)
        self.setLayout(column(rule(), body, gap=0, margins=(theme().px(26), 0, 16, 0)))
        desk.planChanged.connect(self.refresh)
        desk.profileChanged.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """List the differences anew, if there are others."""
        found = self._desk.changes()
        self.setVisible(bool(found))
        self._since.setText(tr("since it was saved") if self._desk.profile is not None else tr("since it was opened"))
        if found == self._shown:
            return
        self._shown = found
        self._title.setText(tr("{count} change", plural="{count} changes", count=len(found)))
        empty_layout(self._grid)
        for index, change in enumerate(found[:_MOST]):
            self._add(index, change)
        if len(found) > _MOST:
            more = Label(tr("and {more} more", more=len(found) - _MOST), "note", "text2")
            self._grid.addWidget(more, _MOST, 0, 1, 3)
        self._grid.setColumnStretch(2, 1)

    def _add(self, index: int, change: Change) -> None:
        flag, name = change_words(change)
        before = Label(setting_words(change.before), "mono", "text2", elide="middle")
        after = Label(setting_words(change.after), "mono", elide="middle")
        values = QWidget()
        line = QGridLayout(values)
        line.setContentsMargins(0, 0, 0, 0)
        line.setHorizontalSpacing(8)
        for place, widget in enumerate((before, IconLabel("arrow-right", 12, "text2"), after)):
            if widget in (before, after):
                widget.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
                widget.setFixedWidth(min(widget.sizeHint().width() + 4, theme().px(170)))
            line.addWidget(widget, 0, place)
        line.setColumnStretch(3, 1)
        undo = tool_button("undo-2", tr("Take back: {name}", name=name or flag),
                           lambda: self._desk.edit(undone(self._desk.plan, change)))
        for place, widget in enumerate((Label(flag, "mono", "accent"), Label(name, "note"), values, undo)):
            self._grid.addWidget(widget, index, place)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(theme().px(13), 9, 3, theme().px(16), theme().color("accent"))
