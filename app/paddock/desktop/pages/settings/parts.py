"""What the sections of Settings are made of."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from paddock.desktop.parts.basic import Label, column, row
from paddock.desktop.theme import theme

LABELS = 184


def line(label: str, *controls: QWidget | None, note: str = "") -> QWidget:
    """Label | controls, and a note below them."""
    name = Label(label, wrap=True)
    name.setFixedWidth(theme().px(LABELS))
    right = column(row(*controls, None, gap=8), gap=4)
    if note:
        right.addWidget(Label(note, "note", "text2", wrap=True))
    inputs = [c for c in controls if c is not None and c.focusPolicy() != Qt.FocusPolicy.NoFocus]
    if inputs:
        name.setBuddy(inputs[0])
    made = QWidget()
    whole = row(name, right, gap=16, margins=(0, 4, 0, 4))
    whole.setStretch(1, 1)
    whole.setAlignment(name, Qt.AlignmentFlag.AlignTop)
    name.setMinimumHeight(theme().px(28))
    made.setLayout(whole)
    return made


def listing() -> tuple[QWidget, QVBoxLayout]:
    """A holder of rows without gaps, and the layout to put them in."""
    holder = QWidget()
    box = QVBoxLayout(holder)
    box.setSpacing(0)
    box.setContentsMargins(0, 0, 0, 0)
    return holder, box
