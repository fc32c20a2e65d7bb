"""Patterns over colours: the second sign of every filled area. Lines in a clip, since they scale with the screen."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from paddock.desktop.colours import DATA
from paddock.desktop.theme import theme

STEP = 5.0


def fill_data(painter: QPainter, rect: QRectF, n: int) -> None:
    """Fill with data colour n and its pattern."""
    painter.fillRect(rect, theme().data(n))
    draw_pattern(painter, rect, DATA[(n - 1) % len(DATA)].pattern, theme().pattern_ink())


def fill_other(painter: QPainter, rect: QRectF) -> None:
    """Memory of other processes: no fill, backward diagonals, outline."""
    edge = theme().color("edge")
    draw_pattern(painter, rect, "backward", edge, 1.0)
    painter.setPen(QPen(edge, 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))


def draw_pattern(painter: QPainter, rect: QRectF, kind: str, ink: QColor, width: float = 1.7) -> None:
    """plain, diagonal (/), backward (\\), uprights, levels, crosses or dots, clipped to the rectangle."""
    if kind == "plain" or rect.width() <= 0:
        return
    painter.save()
    painter.setClipRect(rect, Qt.ClipOperation.IntersectClip)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, kind not in ("uprights", "levels"))
    if kind == "dots":
        _dots(painter, rect, ink)
    else:
        painter.setPen(QPen(ink, width))
        painter.drawLines(_lines(rect, kind))
    painter.restore()


def _steps(start: float, end: float, step: float = STEP) -> list[float]:
    return [start + i * step for i in range(int((end - start) / step) + 2)]


def _lines(rect: QRectF, kind: str) -> list[QLineF]:
    x0, x1, y0, y1, h = rect.left(), rect.right(), rect.top(), rect.bottom(), rect.height()
    if kind == "uprights":
        return [QLineF(x, y0, x, y1) for x in _steps(x0 + 2, x1, 4)]
    if kind == "levels":
        return [QLineF(x0, y, x1, y) for y in _steps(y0 + 2, y1, 4)]
    step = STEP * 1.3
    forward = [QLineF(x, y1, x + h, y0) for x in _steps(x0 - h, x1, step)]
    backward = [QLineF(x, y0, x + h, y1) for x in _steps(x0 - h, x1, step)]
    return {"diagonal": forward, "backward": backward, "crosses": forward + backward}[kind]


def _dots(painter: QPainter, rect: QRectF, ink: QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink)
    for row, y in enumerate(_steps(rect.top() + 2, rect.bottom(), 4)):
        for x in _steps(rect.left() + (2 if row % 2 else 4), rect.right(), 4):
            painter.drawEllipse(QPointF(x, y), 1.0, 1.0)
