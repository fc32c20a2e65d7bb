"""The mark of a profile: one of six colours, each with a shape of its own."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPen, QPolygonF

from paddock.desktop.icons import Painted
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.store.profile_form import COLOURS

_SHAPES = ("disc", "triangle", "square", "diamond", "ring", "frame")


def colour_words(colour: str) -> str:
    """Its name; "no mark" for an empty or unknown one."""
    return {"blue": tr("Blue"), "orange": tr("Orange"), "purple": tr("Purple"), "teal": tr("Teal"),
            "pink": tr("Pink"), "grey": tr("Grey")}.get(colour, tr("No mark"))


def paint_mark(painter: QPainter, colour: str, rect: QRectF) -> None:
    """Draw it, centred; nothing for no mark."""
    if colour not in COLOURS:
        return
    number = COLOURS.index(colour)
    side = min(rect.width(), rect.height()) * 0.62
    box = QRectF(rect.center().x() - side / 2, rect.center().y() - side / 2, side, side)
    shape = _SHAPES[number]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    ink = theme().data(number + 1)
    painter.setBrush(Qt.BrushStyle.NoBrush if shape in ("ring", "frame") else ink)
    painter.setPen(QPen(ink, 2) if shape in ("ring", "frame") else Qt.PenStyle.NoPen)
    middle = box.center()
    if shape in ("disc", "ring"):
        painter.drawEllipse(box)
    elif shape in ("square", "frame"):
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
    elif shape == "triangle":
        painter.drawPolygon(QPolygonF([QPointF(middle.x(), box.top()), box.bottomRight(), box.bottomLeft()]))
    else:
        painter.drawPolygon(QPolygonF([QPointF(middle.x(), box.top() - 1), QPointF(box.right() + 1, middle.y()),
                                       QPointF(middle.x(), box.bottom() + 1), QPointF(box.left() - 1, middle.y())]))
    painter.restore()


class _Mark(Painted):
    def __init__(self, colour: str) -> None:
        super().__init__()
        self._colour = colour

    def paint(self, painter: QPainter, rect: QRect, _mode: QIcon.Mode, _state: QIcon.State) -> None:
        paint_mark(painter, self._colour, QRectF(rect))

    def clone(self) -> QIconEngine:
        return _Mark(self._colour)


def mark_icon(colour: str, keep_room: bool = False) -> QIcon:
    """Follows the theme by itself; null for no mark, or with `keep_room` an empty one, so that names line up."""
    return QIcon(_Mark(colour)) if keep_room or colour in COLOURS else QIcon()
