"""The strip of event flags above the plots, the time ruler below them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QToolTip, QWidget

from paddock.desktop.plots import ink, sizes
from paddock.desktop.plots.scale import clock_text
from paddock.session.model import Event
from paddock.text import Text

_SHOWN_KINDS = ("mark", "issue", "state", "log")
_PASSING = ("starting", "loading", "stopping")


def has_flag(event: Event) -> bool:
    """Requests have their lanes, memory its plot, passing states are seen by what follows; the rest gets a flag."""
    if event.kind == "cache":
        return bool(event.data.get("missed"))
    return event.kind in _SHOWN_KINDS and event.text not in _PASSING


def flag_text(event: Event, in_full: bool = False) -> str:
    """States are stored by their id; everything else is a text already. `in_full`: with proof and remedy."""
    if event.kind != "state":
        return event.in_full if in_full else event.text
    words = {"ready": Text("ready"), "stopped": Text("stopped"), "failed": Text("failed"), "crashed": Text("crashed")}
    return str(words.get(event.text, event.text))


def place_flags(marks: Sequence[tuple[float, float, float]], right: float) -> list[tuple[bool, bool]]:
    """Which flags and labels are drawn: for each (x, flag width, label width), sorted by x.

    A flag is dropped only where it would cover the one before it, a label where it would reach the next flag or
    `right`.
    """
    out: list[tuple[bool, bool]] = []
    free = float("-inf")
    for i, (x, flag, label) in enumerate(marks):
        shown = x - flag / 2 >= free
        limit = min([m[0] - m[1] / 2 for m in marks[i + 1:i + 2]] + [right])
        labelled = shown and x + flag / 2 + 4 + label <= limit
        out.append((shown, labelled))
        if shown:
            free = x + flag / 2 + 2
    return out


class EventStrip(QWidget):
    """Numbered flags; the text beside them where there is room, else in the tooltip and the table."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._events: list[tuple[int, Event]] = []
        self._start, self._end = 0.0, 1.0
        self.fit()

    def fit(self) -> None:
        """As high as the font in use asks for."""
        self.setFixedHeight(sizes.at_least(20))

    def set_view(self, events: list[tuple[int, Event]], start: float, end: float) -> None:
        if (events, start, end) != (self._events, self._start, self._end):
            before, shown = self._events, self._places()
            self._events, self._start, self._end = events, start, end
            if events != before or self._places() != shown:
                self.update()

    def _places(self) -> list[int]:
        """The pixel of each event."""
        left = sizes.left()
        scale = (self.width() - sizes.legend() - left - sizes.right()) / max(self._end - self._start, 1e-9)
        return [round(left + (event.t - self._start) * scale) for _, event in self._events]

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plain, bold = ink.caption(), ink.caption(bold=True)
        painter.setFont(plain)
        metrics = painter.fontMetrics()
        marks = [(x, max(14.0, metrics.horizontalAdvance(str(n)) + 6.0),
                  float(min(metrics.horizontalAdvance(flag_text(e)), 220)))
                 for (n, e), x in zip(self._events, self._places(), strict=True)]
        for (number, mark), (x, flag, label), (shown, labelled) in zip(
                self._events, marks, place_flags(marks, self.width()), strict=True):
            if not shown:
                continue
            box = QRectF(x - flag / 2, 1, flag, self.height() - 7)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink.role("text2"))
            painter.drawPolygon(QPolygonF([box.topLeft(), box.topRight(), box.bottomRight(),
                                           QPointF(x, box.bottom() + 5), box.bottomLeft()]))
            painter.setFont(bold)
            painter.setPen(ink.role("base"))
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), str(number))
            if labelled:
                painter.setFont(plain)
                painter.setPen(ink.role("text2"))
                beside = QRectF(box.right() + 4, 0, label + 2, self.height() - 4)
                painter.drawText(beside, int(Qt.AlignmentFlag.AlignVCenter),
                                 metrics.elidedText(flag_text(mark), Qt.TextElideMode.ElideRight, int(label) + 1))
        painter.end()

    def event(self, event: object) -> bool:
        if isinstance(event, QHelpEvent):
            near = [f"{n}  {clock_text(e.t)}  {flag_text(e, in_full=True)}"
                    for (n, e), x in zip(self._events, self._places(), strict=True) if abs(x - event.pos().x()) < 8]
            QToolTip.showText(event.globalPos(), "\n".join(near), self)
            return True
        return bool(super().event(event))  # type: ignore[arg-type]


class Ruler(QWidget):
    """Time under the lowest plot, as a clock since the session started."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._start, self._end = 0.0, 1.0
        self._ticks: list[float] = []
        self.fit()

    def fit(self) -> None:
        """As high as the font in use asks for."""
        self.setFixedHeight(sizes.at_least(18))

    def set_view(self, start: float, end: float, ticks: list[float]) -> None:
        if (start, end, ticks) != (self._start, self._end, self._ticks):
            before = self._places()
            self._start, self._end, self._ticks = start, end, ticks
            if self._places() != before:
                self.update()

    def _places(self) -> list[tuple[int, float]]:
        """(pixel, seconds) of each tick."""
        width = self.width() - sizes.legend() - sizes.left() - sizes.right()
        scale = width / max(self._end - self._start, 1e-9)
        return [(round(sizes.left() + (t - self._start) * scale), t) for t in self._ticks]

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(ink.caption())
        for x, t in self._places():
            painter.setPen(ink.role("edge"))
            painter.drawLine(x, 0, x, 3)
            painter.setPen(ink.role("text3"))
            box = QRectF(x - 60, 3, 120, self.height() - 3)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), clock_text(t))
        painter.end()
