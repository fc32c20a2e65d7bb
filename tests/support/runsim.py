"""A server's life second by second, for detectors: series, requests and events as the recorder would have them.

A `Life` is built from spans: each says for how long, and what slots, cards and host do meanwhile. Nothing is random
but a small seeded noise, so that every run gives the same figures.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from typing import Any

from paddock.hardware.model import DeviceReading, Reading
from paddock.session.columns import sample_columns
from paddock.session.detectors import Expectation, View
from paddock.session.memory import ActualMemory, Buffer
from paddock.session.model import Event, Request, Sample, SlotSample
from paddock.session.proxy.record import Exchange
from paddock.session.series import Series

NAN = math.nan
GIB = 1 << 30
MIB = 1 << 20


@dataclass(frozen=True)
class Span:
    """What goes on for a while. Rates in tokens/s; `speed` and `clock` may be (from, to), moving evenly."""

    seconds: float
    busy: int = 0
    phase: str = "idle"
    speed: Any = 0.0
    waiting: Any = 0.0
    answered: bool = True
    sleeping: bool = False
    ready: bool = True
    load: float = 1.0
    clock: Any = 2500.0
    heat: float = 65.0
    reasons: tuple[str, ...] = ()
    used: Any = 14 * GIB
    shared: Any = None
    context: Any = (500.0, 600.0)
    host: dict[str, Any] = field(default_factory=dict)
    new_request: bool = True


IDLE = Span(20, load=2.0, clock=400.0)
WRITE = Span(30, busy=1, phase="generating", speed=50.0, load=95.0, context=(500.0, 2000.0))
READ = Span(4, busy=1, phase="prompt", load=99.0)
LOADING = Span(8, ready=False, answered=False, load=10.0, clock=1200.0)
SLEEPING = Span(30, sleeping=True, load=0.0, clock=210.0)

HEALTHY_HOST = {"cpu_pct": 20.0, "process_cpu_pct": 110.0, "ram_used_bytes": 8.0 * GIB,
                "ram_available_bytes": 24.0 * GIB, "swap_used_bytes": 0.0, "process_rss_bytes": 2.0 * GIB,
                "steal_pct": 0.0, "run_queue": 2.0, "process_read_bytes_per_s": 0.0, "process_faults_per_s": 0.0,
                "process_swap_bytes": 0.0}


def _at(value: Any, part: float) -> float:
    return value[0] + (value[1] - value[0]) * part if isinstance(value, tuple) else float(value)


class Life:
    """Lives through spans; `views()` gives the view at every second second, `view` the last."""

    def __init__(self, plan: Expectation, memory: ActualMemory | None = None, cards: tuple[str, ...] = ("CUDA0",),
                 slots: int = 1, seed: int = 1) -> None:
        self.plan, self.cards, self.slots = plan, cards, slots
        self.memory = memory if memory is not None else on_card()
        self.series = Series()
        self.requests: list[Request] = []
        self.events: list[Event] = []
        self.exchanges: list[Exchange] = []
        self.throttles: dict[str, list[tuple[float, tuple[str, ...]]]] = {name: [] for name in cards}
        self.now, self.ready_t = 0.0, NAN
        self._task = 0
        self._random = random.Random(seed)
        self._views: list[View] = []
        self._reading_t = -1.0

    def live(self, *spans: Span) -> Life:
        for span in spans:
            self._span(span)
        return self

    def views(self) -> list[View]:
        return self._views

    @property
    def view(self) -> View:
        return self._views[-1]

    def _span(self, span: Span) -> None:
        if span.ready and math.isnan(self.ready_t):
            self.ready_t = self.now
            self.events.append(Event(self.now, "state", "ready", {"state": "ready"}))
        if not span.ready:
            self.ready_t = NAN
        if span.busy and span.new_request:
            self._task += 1
            self.requests.append(Request(self._task, self._task, 0, self.now, status="active",
                                         t_first_token=self.now if span.phase == "generating" else None))
        elif span.busy and span.phase == "generating" and self.requests:
            self.requests[-1].t_first_token = self.now
        start, end = self.now, self.now + span.seconds
        step = 0.25 if span.busy else 1.15
        due = start
        while self.now + step <= end + 1e-9:
            self.now += step
            self._tick(span, (self.now - start) / span.seconds)
            if self.now >= due:
                due = self.now + 2.0
                self._views.append(self._look(span))
        if self.requests and self.requests[-1].status == "active" and span.phase != "prompt":
            self.requests[-1].t_end, self.requests[-1].status = self.now, "done"

    def _tick(self, span: Span, part: float) -> None:
        self._sample = sample = self._made(span, part)
        row = sample_columns(sample)
        if sample.reading is not None:
            row |= HEALTHY_HOST | {k: _at(v, part) for k, v in span.host.items()}
            if span.shared is not None:
                row["CUDA0.shared_used_bytes"] = _at(span.shared, part)
            if self._reading_t + 0.9 <= self.now:
                self._reading_t = self.now
                for rows in self.throttles.values():
                    rows.append((self.now, span.reasons))
        self.series.append(self.now, row)

    def _made(self, span: Span, part: float) -> Sample:
        if not span.answered:
            return Sample(self.now, NAN, NAN, NAN, NAN, NAN, NAN, (), self._reading(span, part), False)
        noise = 1 + self._random.uniform(-0.03, 0.03)
        speed = _at(span.speed, part) * noise
        writing = span.phase == "generating"
        slots = tuple(
            SlotSample(i, i < span.busy, span.phase if i < span.busy else "idle", self._task or None,
                       _at(span.context, part), 8192.0, NAN, 10.0, speed if writing and i < span.busy else NAN,
                       NAN, NAN)
            for i in range(self.slots)) if not span.sleeping else ()
        return Sample(self.now, speed * max(1, span.busy) if writing else 0.0, 900.0 if span.phase == "prompt" else 0.0,
                      _at(span.context, part), float(span.busy), _at(span.waiting, part), NAN, slots,
                      self._reading(span, part), True, span.sleeping)

    def _reading(self, span: Span, part: float) -> Reading:
        cards = tuple(DeviceReading(name, _at(span.used, part), 2.0 * GIB, 13.0 * GIB, span.load, span.load / 2,
                                    _at(span.clock, part), 9500.0, 200.0, span.heat, NAN, NAN, span.reasons)
                      for name in self.cards)
        return Reading(self.now, 20.0, 8.0 * GIB, 24.0 * GIB, 0.0, 110.0, 2.0 * GIB, cards)

    def _look(self, span: Span) -> View:
        return View(
            now=self.now, series=_Until(self.series, self.now), ready_t=self.ready_t, sample=self._sample,
            requests=[replace(r) for r in self.requests], events=list(self.events), memory=self.memory,
            exchanges=list(self.exchanges), plan=self.plan,
            throttles={n: list(rows[-120:]) for n, rows in self.throttles.items()})


@dataclass(frozen=True)
class _Until:
    """The series as it was at a moment that is over."""

    series: Series
    end: float

    @property
    def names(self) -> tuple[str, ...]:
        return self.series.names

    def view(self, name: str, t0: float = -math.inf, t1: float = math.inf, points: int | None = None) -> Any:
        t, y = self.series.view(name, t0, min(t1, self.end), points)
        return t[t <= self.end], y[t <= self.end]


def plan(**changes: Any) -> Expectation:
    """12 GiB of weights and 1 GiB of cache on CUDA0, 0.2 GiB in RAM; 16 threads of 16 cores."""
    whole: dict[str, Any] = {
        "model_bytes": {"CUDA0": 12 * GIB, "Host": 200 * MIB}, "context_bytes": {"CUDA0": GIB, "Host": 0},
        "total_bytes": {"CUDA0": 16 * GIB}, "threads": 16, "physical_cores": 16, "logical_cores": 32,
        "context_size": 8192, "slots": 1, "past": [(1500.0, 50.0 + i) for i in range(-3, 4)],
        "ceiling": (80.0, 60.0, 8192)}
    return Expectation(**(whole | changes))


def no_card_plan() -> Expectation:
    """Everything in RAM, as planned."""
    return plan(model_bytes={"Host": 12 * GIB}, context_bytes={"Host": GIB}, total_bytes={})


def buffers(card: int = 12 * GIB, ram: int = 200 * MIB, cache: int = GIB, cache_ram: int = 0) -> ActualMemory:
    """What the log told, bytes."""
    rows = [Buffer("main", "CUDA0", "CUDA0", "model", card), Buffer("main", "CPU", "Host", "model", ram),
            Buffer("main", "CUDA0", "CUDA0", "context", cache), Buffer("main", "CPU", "Host", "context", cache_ram)]
    return ActualMemory(tuple(b for b in rows if b.bytes), offloaded=(49, 49))


def on_card() -> ActualMemory:
    return buffers()


def in_ram() -> ActualMemory:
    return buffers(0, 12 * GIB + 200 * MIB, 0, GIB)
