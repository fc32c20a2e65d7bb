"""Slot lanes: one row a slot, each request a bar, its prompt hatched and its generation plain; and the waterfall."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from paddock.desktop.plots import ink, sizes
from paddock.desktop.plots.bars import Bars
from paddock.desktop.plots.frame import Frame, Setup
from paddock.desktop.plots.legend import Legend, Row
from paddock.desktop.plots.scale import runs
from paddock.session.model import Request
from paddock.text import Text


class LaneArea(QWidget):
    """The painted part, as wide as a plot with its two scales."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slots = 1
        self._bars = Bars()
        self._start, self._end, self._now = 0.0, 1.0, 0.0
        self._waiting: list[tuple[float, float]] = []

    def set_waiting(self, spans: list[tuple[float, float]]) -> None:
        """When requests waited for a slot: (from, to) seconds."""
        if spans != self._waiting:
            self._waiting = spans
            self.update()

    def set_slots(self, slots: int) -> None:
        self._slots = max(1, slots)
        self.update()

    def set_view(self, requests: Sequence[Request], start: float, end: float, now: float) -> None:
        self._bars.set_requests(requests)
        self._start, self._end, self._now = start, end, now
        self.update()

    def bars(self) -> list[tuple[Request, int, float, float, float]]:
        """What is in sight: request, slot, start, first token, end (seconds; first token = end while reading)."""
        return self._bars.within(self._start, self._end, self._now)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), ink.role("base"))
        painter.setFont(ink.caption())
        rows = self._slots
        height = self.height() / rows
        plot = QRectF(sizes.left(), 0, self.width() - sizes.left() - sizes.right(), self.height())
        line = painter.fontMetrics().height()
        every = 1 if height >= line * 0.8 else -(-int(line) // max(int(height), 1))
        for row in range(rows):
            top = row * height
            if height > 8 or (row % 2 == 0 and height > 3):
                painter.fillRect(QRectF(plot.left(), top + 1, plot.width(), height - 2), ink.role("alt"))
            if row % every == 0:
                painter.setPen(ink.role("text3"))
                painter.drawText(QRectF(0, top + height / 2 - line / 2, sizes.left() - 6, line),
                                 int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(row))
        painter.setClipRect(plot)
        scale = plot.width() / max(self._end - self._start, 1e-9)
        gap = 1.0 if height > 5 else 0.0
        x = (self._bars.times(self._now) - self._start) * scale
        for number in self._bars.paint_narrow(painter, plot, rows, gap, x):
            request, slot = self._bars.request(number)
            box = QRectF(plot.left(), slot * height + gap, 0, max(height - 2 * gap, 1.0))
            self._paint_bar(painter, request, box, [float(at) for at in x[:, number]])
        # Requests without a slot are in no lane: a line over all of them, and their number in the legend.
        for start, end in self._waiting:
            left, right = ((t - self._start) * scale for t in (start, end))
            painter.fillRect(QRectF(plot.left() + left, 0, max(right - left, 1.0), 2.0), ink.role("warn"))
        painter.end()

    def _paint_bar(self, painter: QPainter, request: Request, row: QRectF, x: list[float]) -> None:
        base = row.left()
        left = max(x[0], -4.0)
        prompt = QRectF(base + left, row.top(), max(x[1] - left, 0), row.height())
        written = QRectF(base + max(x[1], -4.0), row.top(), max(x[2] - max(x[1], -4.0), 0), row.height())
        if prompt.width() > 0:
            painter.fillRect(prompt, ink.data(2))
            if prompt.height() > 4:
                ink.hatch(painter, prompt)
        if written.width() > 0:
            painter.fillRect(written, ink.data(1))
        if request.status == "failed":
            painter.setPen(QPen(ink.role("bad"), 2))
            painter.drawRect(prompt.united(written).adjusted(1, 1, -1, -1))
        text, metrics = str(request.number), painter.fontMetrics()
        if row.height() < metrics.ascent():
            return
        # The number goes on the plain part if it fits there; on the hatched one it needs a plate.
        wide = metrics.horizontalAdvance(text) + 8
        shown = QRectF(max(written.left(), base), row.top(), written.right() - max(written.left(), base), row.height())
        if shown.width() >= wide:
            painter.setPen(ink.on_data(1))
            painter.drawText(shown.adjusted(4, 0, 0, 0), int(Qt.AlignmentFlag.AlignVCenter), text)
            return
        shown = QRectF(max(prompt.left(), base), row.top(), prompt.right() - max(prompt.left(), base), row.height())
        if shown.width() >= wide:
            painter.fillRect(QRectF(shown.left(), shown.top(), wide, shown.height()), ink.data(2))
            painter.setPen(ink.on_data(2))
            painter.drawText(shown.adjusted(4, 0, 0, 0), int(Qt.AlignmentFlag.AlignVCenter), text)


class Lanes(QWidget):
    """Lanes with their legend."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.area, self.legend = LaneArea(self), Legend(self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 2)
        layout.setSpacing(0)
        layout.addWidget(self.area, 1)
        layout.addWidget(self.legend)
        self._slots = 1
        self.setAccessibleName(str(Text("Slots")))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def configure(self, setup: Setup) -> None:
        self._slots = max(1, setup.slots)
        self.area.set_slots(self._slots)

    def draw(self, frame: Frame, start: float, end: float) -> None:
        self.area.set_view(frame.requests, start, end, frame.now)
        t, waiting = frame.cut("requests_waiting", start, end, 400)
        self.area.set_waiting([(float(t[a]), float(t[min(b + 1, len(t) - 1)])) for a, b in runs(waiting > 0)])

    def waiting(self, frame: Frame, moment: float) -> float:
        """Requests without a slot at a moment; NaN where it is not told."""
        return frame.at("requests_waiting", moment)

    def busy(self, frame: Frame, moment: float) -> int:
        """Slots that work at a moment."""
        return len({r.slot for r in frame.requests if r.slot is not None and r.t_start <= moment
                    and (r.t_end is None or r.t_end >= moment)})

    def legend_rows(self, frame: Frame, moment: float) -> list[Row]:
        waiting = self.waiting(frame, moment)
        return [Row(str(Text("Prompt")), 2, "hatch"), Row(str(Text("Generation")), 1, "solid"),
                Row(str(Text("Slots busy")), 0, "word",
                    str(Text("{busy} of {slots}", busy=self.busy(frame, moment), slots=self._slots))),
                *([Row(str(Text("Waiting")), 0, "word", f"{waiting:.0f}", "warn")] if waiting > 0 else [])]

    def sentence(self, frame: Frame, moment: float) -> str:
        said = str(Text("Slots: {busy} of {slots} busy", busy=self.busy(frame, moment), slots=self._slots))
        waiting = self.waiting(frame, moment)
        return f"{said}, {Text('{number} waiting', number=f'{waiting:.0f}')}" if waiting > 0 else said

    def restyle(self) -> None:
        self.legend.fit()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, min(self._slots, 8) * 14 + 4)
