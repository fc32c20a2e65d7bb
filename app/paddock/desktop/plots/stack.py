"""Plots over one time axis: events, tokens/s, slot lanes, context, memory, load, and the ruler below."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from paddock.desktop.plots import sizes
from paddock.desktop.plots.frame import Frame, Setup
from paddock.desktop.plots.glass import Glass
from paddock.desktop.plots.lanes import Lanes
from paddock.desktop.plots.legend import Legend
from paddock.desktop.plots.marks import EventStrip, Ruler, has_flag
from paddock.desktop.plots.scale import time_ticks
from paddock.desktop.plots.views import ContextPlot, LoadPlot, MemoryPlot, Plot, SpeedPlot, Window
from paddock.desktop.theme import theme
from paddock.session.model import Event
from paddock.text import Text

PULL_MS = 100
LABEL_EVERY = 5
"""Legend texts and descriptions change at every fifth pull: 2 Hz."""
_LEAST_SPAN_S = 2.0
_LANES_MOST = 104
"""Pixels; with more slots the lanes get thinner."""
_STALE_S = 5.0
"""A frame that was not worth drawing is drawn after so long all the same: a new peak changes the scale."""
_LEAST_S = 0.45
"""Between two pictures of a running server."""
_LEAST_BUSY_S, _BUSY_PCT = 0.95, 40.0
"""The same where the processors are at work: drawing takes their time and memory bandwidth from the server."""
_YOUNG_SPANS_S = (15.0, 30.0, 60.0)


class PlotStack(QWidget):
    """Shows frames. `follow` keeps the last `span_s` seconds in sight; zooming by hand leaves it.

    With `set_source` it pulls a frame ten times a second while it is visible, and draws only when there is a new one.
    """

    follow_changed = Signal(bool)
    window_changed = Signal()

    def __init__(self, parent: QWidget | None = None, *, live: bool = True) -> None:
        super().__init__(parent)
        self.frame, self.setup = Frame(), Setup()
        self._source: Callable[[], Frame | None] | None = None
        self._span_s: float | None = 120.0 if live else None
        self._follow = True
        self._start, self._end = 0.0, 120.0
        self._drawn_now, self._drawn_events = -1.0, 0
        self._pulls = 0
        self.ended = False
        """Nothing more will come: the plots do not say that they wait."""
        self._timer = QTimer(self)
        self._timer.setInterval(PULL_MS)
        self._timer.timeout.connect(self._pull)
        self._build()
        theme().changed.connect(self.restyle)
        self.restyle()

    def _build(self) -> None:
        self.strip, self.ruler, self.lanes = EventStrip(self), Ruler(self), Lanes(self)
        self.speed, self.context = SpeedPlot(self), ContextPlot(self)
        self.memory, self.load = MemoryPlot(self), LoadPlot(self)
        self.plots: tuple[Plot, ...] = (self.speed, self.context, self.memory, self.load)
        self.parts: tuple[Plot | Lanes, ...] = (self.speed, self.lanes, self.context, self.memory, self.load)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.strip)
        for part, stretch in zip(self.parts, (92, 0, 80, 84, 72), strict=True):
            layout.addWidget(part, stretch)
        layout.addWidget(self.ruler)
        layout.setSpacing(3)
        self.glass = Glass(self)
        self.glass.hovered.connect(self._hovered)
        self.glass.zoomed.connect(self.set_window)
        self.glass.scaled.connect(self._scaled)
        self.glass.moved.connect(self._moved)
        self.glass.follow_asked.connect(self.follow_again)

    # -- what to show ------------------------------------------------------------------------------------------------

    def configure(self, setup: Setup) -> None:
        """A new session: its devices, slots, limits."""
        self.setup = setup
        self.frame = Frame()
        for part in self.parts:
            part.configure(setup)
        rows = max(setup.slots, 1)
        each = 13 if rows <= 4 else 10 if rows <= 8 else 6
        self.lanes.setFixedHeight(sizes.at_least(min(max(52, 4 + rows * each), _LANES_MOST)))
        self._follow = True
        self.redraw(labels=True)

    def set_source(self, source: Callable[[], Frame | None] | None) -> None:
        """Where frames come from while the stack is visible; it gives None when nothing is new. None stops pulling."""
        self._source = source
        self._run_timer()

    def set_frame(self, frame: Frame, labels: bool = True) -> None:
        self.frame = frame
        self.redraw(labels)

    def take(self, frame: Frame) -> None:
        """A newer frame from somebody who pulls himself: drawn if the stack can be seen, else kept for later.

        Two pictures a second are enough (one, where the processors are busy), and over hours a pixel stands for many
        samples: a frame that comes sooner, or cannot move the picture by half a pixel, and brings no event, waits.
        """
        self.frame = frame
        if not self.isVisible():
            self._follow_window()
            return
        passed_s, news = abs(frame.now - self._drawn_now), len(frame.events) != self._drawn_events
        if news or (passed_s >= _LEAST_S and passed_s >= max(self._least_s(), min(self._pixel_s() / 2, _STALE_S))):
            self.redraw()

    def _least_s(self) -> float:
        return _LEAST_BUSY_S if self.frame.at("cpu_pct", self.frame.now) >= _BUSY_PCT else _LEAST_S

    def _pixel_s(self) -> float:
        """Seconds that one pixel of the plots stands for."""
        return (self._end - self._start) / max(self.width() - sizes.left() - sizes.right() - sizes.legend(), 1)

    # -- what is in sight ----------------------------------------------------------------------------------------------

    @property
    def following(self) -> bool:
        return self._follow

    @property
    def span_s(self) -> float | None:
        """Seconds in sight while following; None: all."""
        return self._span_s

    @property
    def window_s(self) -> tuple[float, float]:
        return self._start, self._end

    def set_span(self, seconds: float | None) -> None:
        """The last so many seconds (None: all), following."""
        self._span_s = seconds
        self.follow_again()

    @Slot()
    def follow_again(self) -> None:
        self.set_follow(True)

    def set_follow(self, on: bool) -> None:
        changed = on != self._follow
        self._follow = on
        self.redraw(labels=True)
        if changed:
            self.follow_changed.emit(on)

    @Slot(float, float)
    def set_window(self, start: float, end: float) -> None:
        """A window by hand: no longer following."""
        middle, half = (start + end) / 2, max(end - start, _LEAST_SPAN_S) / 2
        self._start, self._end = middle - half, middle + half
        self.set_follow(False)

    @Slot(float, float)
    def _scaled(self, factor: float, moment: float) -> None:
        span = self._end - self._start
        factor = min(factor, max(self.frame.now, 10.0) * 1.5 / span) if factor > 1 else factor
        self.set_window(moment - (moment - self._start) * factor, moment + (self._end - moment) * factor)

    @Slot(float)
    def _moved(self, share: float) -> None:
        span = self._end - self._start
        shift = min(max(share * span, -self._start - span / 2), self.frame.now - self._start)
        self.set_window(self._start + shift, self._end + shift)

    def _follow_window(self) -> None:
        if not self._follow:
            return
        now = max(self.frame.now, 1.0)
        if self._span_s is None:
            self._start, self._end = 0.0, now
        else:
            # A young session fills a shorter window first; later the window moves along.
            span = next((s for s in _YOUNG_SPANS_S if s >= now), self._span_s)
            span = min(span, self._span_s)
            self._start = max(0.0, now - span)
            self._end = self._start + span

    # -- drawing -------------------------------------------------------------------------------------------------------

    def redraw(self, labels: bool = False) -> None:
        """Draw the frame once: each curve gets its data once."""
        if self.width() <= sizes.left() + sizes.right() + sizes.legend():
            return
        self._follow_window()
        self._drawn_now, self._drawn_events = self.frame.now, len(self.frame.events)
        start, end, pixels = self._start, self._end, self.width() - sizes.left() - sizes.right() - sizes.legend()
        ticks = time_ticks(start, end, max(2, pixels // 110))
        window = Window(start, end, max(pixels, 100), ticks)
        for plot in self.plots:
            plot.draw(self.frame, window)
            if self.ended and plot.note.isVisibleTo(plot):
                plot.set_note(str(Text("Nothing was recorded.")))
        self.lanes.draw(self.frame, start, end)
        events = self.numbered_events()
        self.strip.set_view([(n, e) for n, e in events if start <= e.t <= end], start, end)
        self.ruler.set_view(start, end, ticks)
        self.glass.gap_bottom = self.speed.geometry().bottom()
        self.glass.set_view(start, end, [e.t for _, e in events if start <= e.t <= end],
                            self.frame.gaps(start, end, window.points))
        if labels:
            self.update_labels()
        self.window_changed.emit()

    def numbered_events(self) -> list[tuple[int, Event]]:
        """The events that carry a flag, numbered over the whole session."""
        return list(enumerate((e for e in self.frame.events if has_flag(e)), start=1))

    @property
    def moment(self) -> float:
        """Where the legend reads its values: the cross-hair, else the end of what is in sight."""
        hair = self.glass.hair
        if hair is not None:
            return hair
        span = self.frame.series.span()
        return min(span[1] if span else 0.0, self._end)

    def update_labels(self) -> None:
        for part in self.parts:
            legend: Legend = part.legend
            legend.set_rows(part.legend_rows(self.frame, self.moment))
            sentence = part.sentence(self.frame, self.moment)
            if sentence != part.accessibleDescription():
                part.setAccessibleDescription(sentence)
        self.glass.setAccessibleDescription(". ".join(p.accessibleDescription() for p in self.parts))

    @Slot(object)
    def _hovered(self, moment: float | None) -> None:
        self.update_labels()

    @Slot()
    def _pull(self) -> None:
        frame = self._source() if self._source is not None else None
        self._pulls += 1
        if frame is not None:
            self.frame = frame
            self.redraw()
        if self._pulls % LABEL_EVERY == 0:
            self.update_labels()

    def _run_timer(self) -> None:
        if self._source is not None and self.isVisible():
            if not self._timer.isActive():
                self._timer.start()
        else:
            self._timer.stop()

    # -- Qt ------------------------------------------------------------------------------------------------------------

    @Slot()
    def restyle(self) -> None:
        """Colours of the theme in force."""
        for part in self.parts:
            part.restyle()
        for plot in self.plots:
            plot.setMinimumHeight(sizes.at_least(64))
        for strip in (self.strip, self.ruler):
            strip.fit()
        self._place_glass()
        self.update()

    def showEvent(self, event: QShowEvent) -> None:
        self._run_timer()
        self.redraw(labels=True)

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place_glass()
        self.redraw(labels=True)

    def _place_glass(self) -> None:
        """Over the plots, not over the legend's column."""
        width = self.width() - sizes.legend()
        self.glass.top = self.strip.height()
        self.glass.setGeometry(0, 0, width, self.height() - self.ruler.height())
        self.glass.raise_()
