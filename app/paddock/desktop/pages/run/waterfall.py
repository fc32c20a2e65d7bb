"""Requests below each other over the plots' window: prompt hatched, generation plain, so that waits can be seen."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip, QWidget

from paddock.desktop.pages.run.requests import state_words
from paddock.desktop.plots import ink
from paddock.desktop.plots.scale import clock_text, time_ticks
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.session.model import Request
from paddock.units import count_text, seconds_text

_NUMBERS = 40
_RIGHT = 12


class Waterfall(QAbstractScrollArea):
    """The newest on top. Scrolls when there are more than fit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Request] = []
        self._start, self._end, self._now = 0.0, 1.0, 0.0
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setAccessibleName(tr("Waterfall of requests"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)

    def show_requests(self, requests: Sequence[Request], start: float, end: float, now: float) -> None:
        """Those that touch the window [start, end] (seconds)."""
        self._start, self._end, self._now = start, end, now
        self._rows = [r for r in reversed(requests) if r.t_start <= end and (r.t_end or now) >= start]
        self._ranges()
        longest = max(self._rows, key=lambda r: (r.t_end or now) - r.t_start, default=None)
        self.setAccessibleDescription(tr("No request in sight.") if longest is None else tr(
            "{count} requests in sight; the longest is {number} with {time}.", count=len(self._rows),
            number=longest.number, time=seconds_text((longest.t_end or now) - longest.t_start)))
        self.viewport().update()

    def rows(self) -> list[Request]:
        return self._rows

    @property
    def _row_height(self) -> int:
        return theme().px(20)

    @property
    def _head(self) -> int:
        return theme().px(20)

    def _ranges(self) -> None:
        room = max(1, self.viewport().height() - self._head)
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, len(self._rows) * self._row_height - room))
        bar.setPageStep(room)
        bar.setSingleStep(self._row_height)

    def resizeEvent(self, event: object) -> None:
        self._ranges()

    def _x(self, t: float) -> float:
        room = self.viewport().width() - _NUMBERS - _RIGHT
        return _NUMBERS + (t - self._start) / max(self._end - self._start, 1e-9) * room

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(self.viewport().rect(), ink.role("base"))
        painter.setFont(ink.caption())
        width, height = self.viewport().width(), self.viewport().height()
        if not self._rows:
            painter.setPen(ink.role("text2"))
            painter.drawText(self.viewport().rect(), int(Qt.AlignmentFlag.AlignCenter), tr("No request in this time."))
            return
        self._paint_grid(painter, width, height)
        painter.setClipRect(QRectF(0, self._head, width, height - self._head))
        top = self._head - self.verticalScrollBar().value()
        for i, request in enumerate(self._rows):
            y = top + i * self._row_height
            if y + self._row_height >= self._head and y <= height:
                self._paint_row(painter, request, y)
        painter.end()

    def _paint_grid(self, painter: QPainter, width: int, height: int) -> None:
        for t in time_ticks(self._start, self._end, max(2, width // 110)):
            x = self._x(t)
            painter.setPen(ink.role("grid"))
            painter.drawLine(QPointF(x, self._head), QPointF(x, height))
            painter.setPen(ink.role("text3"))
            left = min(max(x - 40, _NUMBERS - 40), width - 80 + _RIGHT)
            painter.drawText(QRectF(left, 2, 80, self._head - 4), int(Qt.AlignmentFlag.AlignCenter), clock_text(t))

    def _paint_row(self, painter: QPainter, request: Request, y: float) -> None:
        end = request.t_end if request.t_end is not None else self._now
        first = request.t_first_token if request.t_first_token is not None else end
        line = QRectF(0, y, _NUMBERS - 8, self._row_height)
        painter.setPen(ink.role("text2"))
        painter.drawText(line, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(request.number))
        left, middle = max(self._x(request.t_start), _NUMBERS), max(self._x(min(first, end)), _NUMBERS)
        right = max(self._x(end), left + 2)
        prompt = QRectF(left, y + 4, max(middle - left, 0), self._row_height - 8)
        painter.fillRect(prompt, ink.data(2))
        ink.hatch(painter, prompt)
        painter.fillRect(QRectF(middle, y + 4, max(right - middle, 0), self._row_height - 8), ink.data(1))
        if request.status == "failed":
            painter.setPen(ink.role("bad"))
            painter.drawRect(QRectF(left, y + 3, right - left, self._row_height - 6))
        words = seconds_text(end - request.t_start)
        wide = painter.fontMetrics().horizontalAdvance(words)
        if right + wide + 8 < self.viewport().width():
            painter.setPen(ink.role("text2"))
            box = QRectF(right + 4, y, wide + 4, self._row_height)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter), words)

    def viewportEvent(self, event: object) -> bool:
        if isinstance(event, QHelpEvent):
            row = int((event.pos().y() - self._head + self.verticalScrollBar().value()) // self._row_height)
            text = self._sentence(self._rows[row]) if 0 <= row < len(self._rows) else ""
            QToolTip.showText(event.globalPos(), text, self.viewport())
            return True
        return bool(super().viewportEvent(event))  # type: ignore[arg-type]

    def _sentence(self, request: Request) -> str:
        parts = [tr("Request {number}, {state}", number=request.number, state=state_words(request))]
        if request.prompt_tokens is not None:
            parts.append(tr("prompt {tokens}", tokens=count_text(request.prompt_tokens)))
        if request.ttft_s is not None:
            parts.append(tr("first token after {time}", time=seconds_text(request.ttft_s)))
        if request.generated_tokens is not None:
            parts.append(tr("{tokens} generated", tokens=count_text(request.generated_tokens)))
        return "\n".join(parts)

    def sizeHint(self) -> QSize:
        return QSize(300, 160)
