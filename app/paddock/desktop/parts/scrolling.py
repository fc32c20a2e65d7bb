"""What has more to show than there is room for."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


def scrolling(inner: QWidget, name: str = "", *, focus: bool = True, sideways: bool = False) -> QScrollArea:
    """`inner` on the ground it stands on, without a frame, scrolled up and down and, with `sideways`, to the right.

    `name` for screen readers. `focus`: the area itself can be reached by Tab, to be scrolled with the arrow keys; False
    where what is inside takes the focus.
    """
    area = QScrollArea()
    area.setAccessibleName(name)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    if not focus:
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    if not sideways:
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inner)
    for part in (area.viewport(), inner):
        part.setAutoFillBackground(False)
    return area
