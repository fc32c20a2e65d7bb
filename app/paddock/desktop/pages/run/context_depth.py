"""Speed against depth, acceptance over time, and what the cache did for the last prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from paddock.desktop.parts.basic import Label, column
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.plots import ink
from paddock.desktop.plots.scale import clock_text, short_text
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.session.model import Event
from paddock.units import count_text, missing, percent_text, rate_text

Points = Sequence[tuple[float, float]]
_MOST_POINTS = 1500
_CACHE_LINES = 8


@dataclass(frozen=True)
class Chart:
    """What a chart shows: points of now (dots), of earlier (rings), a bound (dashes), in x and y of their own units."""

    now: Points = ()
    before: Points = ()
    bound: Points = ()
    top_x: float = 1.0
    top_y: float = 1.0
    joined: bool = False
    """The points of now are a line over time."""


class ChartArea(QWidget):
    """Axes from 0, a few ticks, dots. `sentence` says it to screen readers."""

    def __init__(self, name: str, form_x: Any, form_y: Any, waits: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chart, self._name, self._waits = Chart(), name, waits
        self._form_x, self._form_y = form_x, form_y
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)
        theme().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(160), theme().px(118))

    def show_chart(self, chart: Chart, sentence: str) -> None:
        if chart != self._chart:
            self._chart = chart
            self.update()
        self.setAccessibleDescription(sentence)

    def paintEvent(self, _event: QPaintEvent) -> None:
        chart, painter = self._chart, QPainter(self)
        painter.setFont(ink.caption())
        line = painter.fontMetrics().height()
        box = QRectF(self.rect()).adjusted(theme().px(36), line / 2, -theme().px(12), -line - 4)
        self._axes(painter, box, line)
        if not chart.now and not chart.before:
            painter.setPen(ink.role("text2"))
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap), self._waits)
            return
        painter.setClipRect(box.adjusted(-4, -4, 4, 4))
        if chart.bound:
            painter.setPen(ink.pen(ink.role("text2"), ink.DOTS))
            painter.drawPolyline(QPolygonF([self._at(box, p) for p in chart.bound]))
        painter.setPen(ink.pen(ink.role("text3")))
        for point in chart.before:
            painter.drawEllipse(self._at(box, point), 2.5, 2.5)
        if chart.joined:
            painter.setPen(ink.pen(ink.data(1)))
            painter.drawPolyline(QPolygonF([self._at(box, p) for p in chart.now]))
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink.data(1))
        for point in chart.now:
            painter.drawEllipse(self._at(box, point), 1.7, 1.7)

    def _at(self, box: QRectF, point: tuple[float, float]) -> QPointF:
        return QPointF(box.left() + box.width() * point[0] / self._chart.top_x,
                       box.bottom() - box.height() * min(1.05, point[1] / self._chart.top_y))

    def _axes(self, painter: QPainter, box: QRectF, line: int) -> None:
        painter.setPen(ink.pen(ink.role("line")))
        empty = not self._chart.now and not self._chart.before
        for part in (0.0, 1.0) if empty else (0.0, 0.5, 1.0):
            y = box.bottom() - part * box.height()
            painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        painter.setPen(ink.role("text3"))
        for part in (0.0, 0.5, 1.0):
            y = box.bottom() - part * box.height()
            painter.drawText(QRectF(0, y - line / 2, box.left() - 6, line), int(
                Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), self._form_y(self._chart.top_y * part))
            x = box.left() + part * box.width()
            side = (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignHCenter, Qt.AlignmentFlag.AlignRight)[
                round(part * 2)]
            at = QRectF(x - (0 if part == 0 else 60 if part == 0.5 else 120), box.bottom() + 3, 120, line)
            painter.drawText(at, int(side), self._form_x(self._chart.top_x * part))


def depth_chart(series: Any, slots: int, past: Points, ceiling: tuple[float, float, int] | None,
                limit: float | None) -> Chart:
    """Every sample of a generating slot at its depth; earlier answers of the profile; what memory speed allows."""
    now = _samples(series, slots)
    deepest = max([d for d, _ in (*now, *past)], default=0.0)
    top_x = max(512.0, 1.1 * deepest if limit is None else min(limit, max(1.1 * deepest, limit / 16)))
    top_x = math.ceil(top_x / 512) * 512.0
    top_y = _round_up(max([s for _, s in (*now, *past[:200])], default=1.0))
    bound: list[tuple[float, float]] = []
    if ceiling is not None and ceiling[2]:
        empty, full, depth_full = ceiling
        for i in range(21):
            x = top_x * i / 20
            bound.append((x, 1 / (1 / empty + min(1.0, x / depth_full) * (1 / full - 1 / empty))))
    return Chart(tuple(now), tuple(p for p in past[:200] if p[0] <= top_x), tuple(bound), top_x, top_y)


def _samples(series: Any, slots: int) -> list[tuple[float, float]]:
    """(depth, tokens/s), thinned evenly before anything leaves numpy: a day holds a million of them."""
    found = []
    for slot in range(slots):
        names = f"slot.{slot}.context_used", f"slot.{slot}.generation_per_s"
        if names[1] in series.names:
            # Two reads of a series that grows: what both have.
            depth, speed = (series.view(name)[1] for name in names)
            count = min(len(depth), len(speed))
            good = np.flatnonzero((speed[:count] > 0) & ~np.isnan(depth[:count]))
            found.append((depth, speed, good))
    step = max(1, -(-sum(len(good) for _, _, good in found) // _MOST_POINTS))
    return [(float(depth[i]), float(speed[i])) for depth, speed, good in found for i in good[::step].tolist()]


def acceptance_chart(series: Any) -> Chart:
    """Accepted of drafted, percent, over the session."""
    if "acceptance" not in series.names:
        return Chart()
    span = series.span()
    t, share = series.view("acceptance", points=400)
    known = ~np.isnan(share)
    points = tuple(zip(t[known].tolist(), (100 * share[known]).tolist(), strict=True))
    return Chart(points, top_x=max(10.0, span[1] if span else 0.0), top_y=100.0, joined=True)


def _round_up(value: float) -> float:
    if value <= 0 or math.isnan(value):
        return 1.0
    unit = 10 ** math.floor(math.log10(value))
    return float(next(f for f in (1, 1.5, 2, 3, 4, 5, 8, 10) if f * unit >= value) * unit)


def cache_words(events: Sequence[Event], requests: Sequence[Any]) -> str:
    """The last prompts: how much came from the cache, and why the rest was read, the newest first."""
    found = [e for e in events if e.kind == "cache"]
    why = {e.data["task"]: e.text for e in found if "task" in e.data}
    by_client = {e.data["exchange"]: e.text for e in found if "exchange" in e.data}
    lines = []
    for request in reversed(requests[-_CACHE_LINES:]):
        if request.prompt_tokens is None or request.cached_tokens is None:
            continue
        share = request.cached_tokens / request.prompt_tokens if request.prompt_tokens else 0.0
        said = tr("{number}: {cached} of {total} from the cache, {percent}.", number=str(request.number),
                  cached=count_text(request.cached_tokens), total=count_text(request.prompt_tokens),
                  percent=percent_text(share))
        # What the client's own earlier prompts say comes last: it is the surer word.
        lines.append(" ".join(w for w in (said, why.get(request.task), by_client.get(request.exchange)) if w))
    return "\n".join(lines)


class SpeedPane(QFrame):
    """`show_run` twice a second while it is in sight."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.by_depth = ChartArea(tr("Tokens/s against depth"), lambda v: short_text(v, 1024.0),
                               lambda v: short_text(v), tr("Waiting for the first answer."))
        self.acceptance = ChartArea(tr("Draft acceptance"), clock_text, lambda v: f"{v:.0f}",
                                    tr("No drafts so far."))
        self.depth_note = Label("", "note", "text2", wrap=True)
        self.acceptance_title = Label(tr("Draft acceptance, %, over time"), weight=600)
        self.cache = Label("", "note", "text2", wrap=True)
        inner = QWidget()
        inner.setLayout(column(
            Label(tr("Tokens/s against depth of context"), weight=600), self.by_depth, self.depth_note,
            self.acceptance_title, self.acceptance, Label(tr("Prompt cache"), weight=600), self.cache, None, gap=6,
            margins=(12, 4, 12, 8)))
        self.setLayout(column(scrolling(inner, tr("Speed")), gap=0))
        self._seen: tuple[Any, ...] = ()

    def show_run(self, run: Any, snapshot: Any) -> None:
        """Only when something has been added since."""
        series = run.recorder.series
        seen = (id(run), len(series), snapshot.request_revision, snapshot.event_revision)
        if seen == self._seen:
            return
        self._seen = seen
        watch = run.detectors
        plan = watch.known_expectation if watch is not None else None
        past: Points = tuple(plan.past) if plan is not None else ()
        slots = run.recorder.parser.slots or 1
        chart = depth_chart(series, slots, past, plan.ceiling if plan is not None else None,
                            run.recorder.parser.context_per_slot)
        words = depth_words(chart)
        self.by_depth.show_chart(chart, words)
        self.depth_note.setText(words)
        drafts = acceptance_chart(series)
        for part in (self.acceptance, self.acceptance_title):
            part.setVisible(bool(drafts.now))
        self.acceptance.show_chart(drafts, acceptance_words(drafts))
        self.cache.setText(cache_words(snapshot.events, snapshot.requests) or tr("No prompt has been read yet."))


def depth_words(chart: Chart) -> str:
    """The legend: what dots, rings and dots in a row are, where they are there."""
    parts = []
    if chart.now:
        depth, speed = chart.now[-1]
        parts.append(tr("● this run, {speed} at {depth} tokens last", speed=rate_text(speed), depth=count_text(depth)))
    if chart.before:
        parts.append(tr("○ earlier answers of this profile"))
    if chart.bound and chart.now:
        parts.append(tr("··· what memory speed allows"))
    return ", ".join(parts)


def acceptance_words(chart: Chart) -> str:
    """The newest figure."""
    newest = chart.now[-1][1] if chart.now else math.nan
    return "" if missing(newest) else tr("{percent} accepted in the last seconds", percent=percent_text(newest / 100))
