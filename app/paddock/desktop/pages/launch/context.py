"""The context slider: log steps, and under it what fits, what is tight, what won't."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QSlider, QVBoxLayout, QWidget

from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.units import count_text

_LEAST = 4096
_PER_OCTAVE = 4
_FALLBACK = 131072
_HANDLE = 8


def stops(most: int) -> list[int]:
    """Contexts at the slider's steps: four per octave, multiples of 256, from 4,096 (or less) to `most`."""
    low = min(_LEAST, most)
    found = []
    octave = low
    while octave < most:
        found += [octave + octave * i // _PER_OCTAVE for i in range(_PER_OCTAVE)]
        octave *= 2
    return [n for n in dict.fromkeys(v // 256 * 256 for v in found) if 0 < n < most] + [most]


def short(tokens: int) -> str:
    """131072 -> "128k"."""
    return f"{tokens // 1024}k" if tokens >= 1024 else str(tokens)


class CalmSlider(QSlider):
    """The wheel scrolls the page unless the slider has the focus."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event) if self.hasFocus() else event.ignore()


class ContextSlider(QWidget):
    """`changed(tokens)` comes on the person's move only."""

    changed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._most = 0
        self._stops: list[int] = []
        self._fits: int | None = None
        self._tight: int | None = None
        self.slider = CalmSlider(Qt.Orientation.Horizontal)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.setAccessibleName(tr("Context in tokens"))
        self.slider.setPageStep(_PER_OCTAVE)
        self.slider.valueChanged.connect(self._moved)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 2, 0, 0)
        box.addWidget(self.slider, 0, Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_range(_FALLBACK)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(216), theme().px(50))

    def set_range(self, most: int | None) -> None:
        """Up to the trained length of the model."""
        most = most or _FALLBACK
        if most != self._most:
            self._most = most
            self._stops = stops(most)
            self.slider.blockSignals(True)
            self.slider.setRange(0, len(self._stops) - 1)
            self.slider.blockSignals(False)
            self.update()

    def show_value(self, tokens: int) -> None:
        """Put the handle at the nearest step without telling."""
        nearest = min(range(len(self._stops)), key=lambda i: abs(math.log2(self._stops[i] / max(1, tokens))))
        self.slider.blockSignals(True)
        self.slider.setValue(nearest)
        self.slider.blockSignals(False)
        self.slider.setAccessibleDescription(tr("{tokens} tokens", tokens=count_text(tokens)))

    def show_limits(self, fits: int | None, tight: int | None) -> None:
        """Contexts up to which it fits and is tight; None = not known."""
        if (fits, tight) != (self._fits, self._tight):
            self._fits, self._tight = fits, tight
            self.update()

    @Slot(int)
    def _moved(self, index: int) -> None:
        self.changed.emit(self._stops[index])

    def _x(self, tokens: float) -> float:
        low, high = self._stops[0], self._stops[-1]
        if high <= low:
            return _HANDLE
        # Steps are even on the slider, so a context between two of them lies between their places.
        last = len(self._stops) - 1
        for i in range(last):
            a, b = self._stops[i], self._stops[i + 1]
            if tokens <= b:
                part = max(0.0, (tokens - a) / (b - a))
                return _HANDLE + (i + part) / last * (self.width() - 2 * _HANDLE)
        return float(self.width() - _HANDLE)

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        top = self.slider.geometry().bottom() + 1
        painter.setFont(t.font("caption"))
        height = painter.fontMetrics().height()
        self._paint_ticks(painter, top, height)
        if self._fits is not None and self._tight is not None:
            self._paint_strip(painter, top + 5 + height + 3)

    def _paint_ticks(self, painter: QPainter, top: int, height: int) -> None:
        t = theme()
        octaves = [n for n in self._stops if n & (n - 1) == 0 or n == self._stops[-1]]
        end = -100.0
        for n in octaves:
            x = self._x(n)
            painter.setPen(t.color("soft"))
            painter.drawLine(QPointF(round(x) + 0.5, top), QPointF(round(x) + 0.5, top + 3))
        painter.setPen(t.color("text2"))
        last = octaves[-1]
        last_width = painter.fontMetrics().horizontalAdvance(short(last))
        for n in octaves[::2]:
            width = painter.fontMetrics().horizontalAdvance(short(n))
            x = min(max(0.0, self._x(n) - width / 2), self.width() - width)
            if n != last and (x < end + 12 or x + width > self.width() - last_width - 8):
                continue
            painter.drawText(QRectF(x, top + 4, width + 2, height), Qt.AlignmentFlag.AlignLeft, short(n))
            end = x + width
        if octaves[::2][-1] != last:
            painter.drawText(QRectF(self.width() - last_width, top + 4, last_width + 2, height),
                             Qt.AlignmentFlag.AlignLeft, short(last))

    def _paint_strip(self, painter: QPainter, y: float) -> None:
        t = theme()
        fits, tight = self._fits or 0, self._tight or 0
        left, right = 0.0, float(self.width())
        a = self._x(fits) if fits >= self._stops[0] else left
        b = self._x(tight) if tight >= self._stops[0] else left
        a = right if fits >= self._most else a
        b = max(a, right if tight >= self._most else b)
        parts = ((left, a, "ok", None), (a, b, "warn", (1.4, 0.9)), (b, right, "bad", (0.7, 0.9)))
        for start, end, role, dash in parts:
            if end - start < 1:
                continue
            pen = QPen(t.color(role), 3)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            if dash:
                pen.setDashPattern(list(dash))
            painter.setPen(pen)
            painter.drawLine(QPointF(start, y), QPointF(end, y))
