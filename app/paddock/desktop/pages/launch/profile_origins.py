"""Which values of the plan come from the defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from paddock.desktop.pages.launch.profile_defaults import DefaultsDialog, key_words
from paddock.desktop.parts.basic import Label, button, column, row, rule
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_MOST = 12


class OriginsPane(QWidget):
    """A line for each layer that gives something; hidden while none does."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.words = Label("", "note", "text2", wrap=True)
        self.change = button(tr("Where values come from…"), None, self.open, small=True, link=True)
        line = row(self.words, self.change, gap=12, margins=(0, 8, 0, 8))
        line.setStretch(0, 1)
        self.setLayout(column(rule(), line, gap=0, margins=(theme().px(26), 0, 16, 0)))
        desk.planChanged.connect(self.refresh)
        desk.profileChanged.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Say it anew."""
        found = self._desk.profiles.origins()
        lines = []
        for layer in reversed(self._desk.profiles.layers):
            told = [" ".join((flag, value)) for flag, _, value in
                    (key_words(self._desk.plan, key) for key, origin in found.items() if origin is layer)]
            if told:
                more = tr(", and {more} more", more=len(told) - _MOST) if len(told) > _MOST else ""
                lines.append(tr("From the {layer}: {values}", layer=layer.title, values=", ".join(told[:_MOST]) + more))
        self.words.setText("\n".join(lines))
        self.setVisible(bool(lines))

    def open(self) -> None:
        """The dialog that says it for each value, and changes it."""
        DefaultsDialog(self._desk, self).open()
