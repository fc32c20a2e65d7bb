"""Runs the detectors beside one session and remembers what they found."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paddock.server.model import LogLine, State
from paddock.session.detectors.catalogue import findings_of
from paddock.session.detectors.model import Expectation, Finding, View
from paddock.session.detectors.reuse import Reuse, ReuseLog
from paddock.session.log import LogParser
from paddock.session.model import Event, Sample
from paddock.session.proxy.record import Exchange
from paddock.session.proxy.reuse import CHANGED, LOST, reuse_words
from paddock.session.recorder import Recorder, Snapshot

EVERY_S = 2.0
_TWICE = 2
"""Found so often in a row it is no accident of one moment."""
_GONE_S = 20.0
"""Not seen for so long it is over: a pause between two requests ends nothing."""
_KEEP_THROTTLES, _KEEP_EXCHANGES = 120, 20
_PROMPT_LINES = ("processing task", "new prompt", "cached n_tokens")


@dataclass
class _Kept:
    finding: Finding
    seen_t: float
    times: int = 1
    told: bool = False


class DetectorWatch:
    """Stands between the sampler and the recorder: `on_row` hands on, and looks every two seconds, in that thread.

    What is found twice in a row becomes an event of the session (kind "issue", with proof and remedy), and one of kind
    "recovered" when it is over. `findings`: what holds now, the gravest first; from any thread.
    """

    def __init__(self, recorder: Recorder, expect: Callable[[], Expectation] = Expectation,
                 look: Callable[[View], Sequence[Finding]] = findings_of, *, foreign: bool = False) -> None:
        """`expect` is asked once, at the first look (it may read the database). `foreign`: the server was started by
        somebody else; no state of it is known, only whether it answers."""
        self._expect = expect
        self._expectation: Expectation | None = None
        self._foreign = foreign
        self._recorder, self._look = recorder, look
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._shown: tuple[Finding, ...] = ()
        self._throttles: dict[str, deque[tuple[float, tuple[str, ...]]]] = {}
        self._looked_t = -math.inf
        self._reading_t = math.nan
        self._parser, self._reuse = LogParser(), ReuseLog(self._reused)
        self._exchanges: deque[Exchange] = deque(maxlen=_KEEP_EXCHANGES)

    @property
    def expectation(self) -> Expectation:
        """What this run is held against."""
        if self._expectation is None:
            self._expectation = self._expect()
        return self._expectation

    @property
    def known_expectation(self) -> Expectation | None:
        """The same, but never asks: None until the first look."""
        return self._expectation

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self._shown

    def on_row(self, row: Sample | Event) -> None:
        """The sampler's sink."""
        self._recorder.on_row(row)
        if isinstance(row, Sample):
            self._keep_throttles(row)
            if row.t - self._looked_t >= EVERY_S:
                self._looked_t = row.t
                self.look(row.t)

    def on_line(self, line: LogLine) -> None:
        """A line of the server's log, from the reader's thread; nearly all end at the first test."""
        if "slot" not in line.text and "oldest entry" not in line.text and "better prompt" not in line.text:
            return
        self._reuse.line(line.text)
        if any(part in line.text for part in _PROMPT_LINES):
            for fact in self._parser.feed(line):
                self._reuse.fact(fact)

    def on_exchange(self, exchange: Exchange) -> None:
        """What the recording proxy tells, from its thread: the slow streams, and prompts that the cache had lost."""
        if exchange.outcome == "active":
            return
        self._exchanges.append(exchange)
        kind = (exchange.reused or "").partition(":")[0]
        if kind in (LOST, CHANGED):
            words = reuse_words(exchange.reused, exchange.cached_tokens)
            self._recorder.event("cache", str(words), exchange=exchange.id, reused=exchange.reused,
                                 prompt_tokens=exchange.prompt_tokens, cached_tokens=exchange.cached_tokens,
                                 missed=kind == LOST)

    def _reused(self, found: Reuse) -> None:
        moment = found.t - self._recorder.t0
        if found.reason == "whole" or moment < 0:
            return
        self._recorder.event("cache", str(found.text), task=found.task, slot=found.slot, reason=found.reason,
                             prompt_tokens=found.prompt_tokens, cached_tokens=found.cached_tokens, missed=found.missed)

    def look(self, now: float) -> None:
        """Run all detectors for this moment (seconds since the session's start)."""
        snapshot = self._recorder.snapshot()
        if snapshot.state is not State.READY and not self._foreign:
            self._end(now, everything=True)
            return
        found = self._look(self.view(now, snapshot))
        order = {f.id: i for i, f in enumerate(found)}
        for finding in found:
            kept = self._kept.get(finding.id)
            if kept is None:
                self._kept[finding.id] = kept = _Kept(finding, now)
            else:
                kept.finding, kept.seen_t, kept.times = finding, now, kept.times + 1
            if kept.times >= _TWICE and not kept.told:
                kept.told = True
                data = finding.as_dict()
                self._recorder.event("issue", data.pop("text"), **data)
        self._end(now)
        told = [k.finding for k in self._kept.values() if k.told]
        self._shown = tuple(sorted(told, key=lambda f: order.get(f.id, len(order))))

    def _end(self, now: float, everything: bool = False) -> None:
        for name, kept in list(self._kept.items()):
            # Not found this time: the count in a row begins again.
            if kept.seen_t < now and not kept.told:
                del self._kept[name]
            elif kept.told and (everything or now - kept.seen_t >= _GONE_S):
                del self._kept[name]
                self._recorder.event("recovered", str(kept.finding.what), id=f"degraded.{name}")
        if everything:
            self._kept.clear()
            self._shown = ()

    def view(self, now: float, snapshot: Snapshot) -> View:
        """What the detectors see."""
        ready_t = 0.0 if self._foreign else _ready_t(snapshot)
        return View(
            now=now, series=self._recorder.series, ready_t=ready_t, sample=snapshot.sample, requests=snapshot.requests,
            events=snapshot.events, exchanges=tuple(self._exchanges), memory=snapshot.memory, plan=self.expectation,
            throttles={name: tuple(rows) for name, rows in self._throttles.items()})

    def _keep_throttles(self, sample: Sample) -> None:
        reading = sample.reading
        if reading is None or reading.t == self._reading_t:
            return
        self._reading_t = reading.t
        for device in reading.devices:
            if device.throttle is not None:
                rows = self._throttles.setdefault(device.device, deque(maxlen=_KEEP_THROTTLES))
                rows.append((sample.t, device.throttle))


def _ready_t(snapshot: Snapshot) -> float:
    """When this process became ready, or woke up with its model loaded anew."""
    for event in reversed(snapshot.events):
        if event.kind == "state" and (event.text == "ready" or event.data.get("sleeping") is False):
            return event.t
        if event.kind == "state" and (event.data.get("sleeping") or event.data.get("state") not in (None, "ready")):
            return math.nan
    return math.nan
