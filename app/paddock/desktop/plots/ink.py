"""Pens, hatches and fonts of the plots, from the theme in force."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPainter, QPen

from paddock.desktop.theme import theme

DOTS = (1.0, 3.0)
LIMIT_DASH = (6.0, 3.0)
EVENT_DASH = (2.0, 3.0)


def role(name: str, alpha: float = 1.0) -> QColor:
    """The colour of a role of the look ("text2", "grid", …)."""
    return theme().color(name, alpha)


def data(number: int) -> QColor:
    """Data colour 1 to 6; beyond six they repeat (dashes and names still tell them apart)."""
    return theme().data(number)


def on_data(number: int) -> QColor:
    """The colour of a text on data colour `number`."""
    return theme().on_data(number)


def dash(number: int) -> tuple[float, ...]:
    return theme().dash(number) if number else DOTS


def caption(bold: bool = False) -> QFont:
    """The font of axes, flags and legends."""
    return theme().font("caption", 600 if bold else 400)


def pen(colour: QColor, dashes: Sequence[float] = (), width: float = 1.0) -> QPen:
    """A cosmetic pen: as wide on a zoomed plot as on any other. One pixel is the cheap width."""
    made = QPen(colour, width)
    made.setCosmetic(True)
    if dashes:
        made.setDashPattern([d / width for d in dashes])
    return made


def tint(colour: QColor, share: float) -> QColor:
    made = QColor(colour)
    made.setAlphaF(share)
    return made


def hatch(painter: QPainter, box: QRectF, step: float = 5.0) -> None:
    """Diagonals / over a box, drawn as lines in a clip: brushes with a pattern do not scale."""
    painter.save()
    painter.setClipRect(box, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(theme().pattern_ink(), 1.8))
    x = box.left() - box.height()
    x -= x % step
    lines = []
    while x < box.right():
        lines.append(QLineF(x, box.bottom(), x + box.height(), box.top()))
        x += step
    painter.drawLines(lines)
    painter.restore()


def paint_swatch(painter: QPainter, box: QRectF, colour: QColor, look: str) -> None:
    """A legend's sample of an area: "fill" (tint under its line), "solid", "hatch"."""
    if look == "fill":
        painter.fillRect(box, tint(colour, 0.28))
        painter.setPen(QPen(colour, 1))
        painter.setBrush(QBrush(Qt.BrushStyle.NoBrush))
        painter.drawRect(box)
        return
    painter.fillRect(box, colour)
    if look == "hatch":
        hatch(painter, box)
