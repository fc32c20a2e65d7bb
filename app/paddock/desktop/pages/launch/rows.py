"""One row of the Basic form: label over flags | control | what it costs now."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from paddock.desktop.parts.basic import IconLabel, Label, row
from paddock.desktop.parts.marked import MarkedLabel
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

LABEL_WIDTH, CONTROL_WIDTH = 124, 336


class FormRow(QWidget):
    """`options` are the catalogue ids that it edits: a change in one of them marks the row."""

    def __init__(self, label: str, flags: str, options: tuple[str, ...], control: QWidget) -> None:
        super().__init__()
        self.options = options
        self.label = Label(label)
        self.label.setBuddy(_first_input(control))
        self.flags = Label(flags, "flag", "text2")
        self.control = control
        self.cost = MarkedLabel()
        self._sign = IconLabel("circle-x", 14, "bad")
        self._sign.hide()
        self._costs = QWidget()
        costs = row(self._sign, self.cost, gap=6)
        costs.setStretch(1, 1)
        self._costs.setLayout(costs)
        self._changed = False
        self._compact: bool | None = None
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(theme().px(26), 8, 16, 8)
        self._grid.setHorizontalSpacing(theme().px(16))
        self._grid.setVerticalSpacing(2)
        self._words = QWidget()
        words = QGridLayout(self._words)
        words.setContentsMargins(0, 0, 0, 0)
        words.setVerticalSpacing(0)
        words.addWidget(self.label, 0, 0)
        words.addWidget(self.flags, 1, 0)
        words.setRowStretch(2, 1)
        self._words.setFixedWidth(theme().px(LABEL_WIDTH - 16))
        self.set_compact(False)

    def set_compact(self, compact: bool) -> None:
        """Narrow windows: the cost goes under the control."""
        if compact == self._compact:
            return
        self._compact = compact
        top = Qt.AlignmentFlag.AlignTop
        for widget in (self._words, self.control, self._costs):
            self._grid.removeWidget(widget)
        self._grid.addWidget(self._words, 0, 0, 2 if compact else 1, 1, top)
        self._grid.addWidget(self.control, 0, 1, top)
        if compact:
            self.control.setMinimumWidth(0)
            self.control.setMaximumWidth(theme().px(520))
            self.control.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            self._grid.addWidget(self._costs, 1, 1, top)
            self._grid.setColumnStretch(1, 1)
            self._grid.setColumnStretch(2, 0)
        else:
            self.control.setFixedWidth(theme().px(CONTROL_WIDTH))
            self._grid.addWidget(self._costs, 0, 2, Qt.AlignmentFlag.AlignVCenter)
            self._grid.setColumnStretch(1, 0)
            self._grid.setColumnStretch(2, 1)
        self._grid.setRowStretch(2, 1)

    def show_cost(self, text: str, error: bool = False) -> None:
        """What it costs, or what is wrong with it."""
        self.cost.setMarked(text)
        self.cost.look(role="bad" if error else "text2")
        self._sign.setVisible(error)
        self._costs.setVisible(bool(text) or not self._compact)

    def set_changed(self, changed: bool) -> None:
        if changed != self._changed:
            self._changed = changed
            self.label.look(weight=500 if changed else 400)
            self.setAccessibleDescription(tr("changed since it was saved") if changed else "")
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._changed:
            painter = QPainter(self)
            painter.fillRect(theme().px(13), 4, 3, theme().px(30), theme().color("accent"))


def _first_input(control: QWidget) -> QWidget:
    for child in [control, *control.findChildren(QWidget)]:
        if child.focusPolicy() & Qt.FocusPolicy.TabFocus:
            return child
    return control
