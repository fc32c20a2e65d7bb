"""One session's memory: log, requests, samples and events in one place, for a face to pull and a store to keep."""

from __future__ import annotations

import bisect
import dataclasses
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from paddock.hardware.model import Reading
from paddock.server.model import Exit, LogLine, State
from paddock.session.batching import BatchRates
from paddock.session.children import Children
from paddock.session.columns import sample_columns
from paddock.session.joining import Joiner
from paddock.session.log import Fact, LogParser
from paddock.session.memory import ActualMemory
from paddock.session.model import Event, MarkChange, Request, Sample
from paddock.session.proxy import Exchange
from paddock.session.requests import RequestTracker
from paddock.session.series import Series
from paddock.text import Text

_LOG_LAG_S = 3.0
"""Silent for so long, the log has been read to its end."""
_PIPE_LAG_S = 60.0
Row = Sample | Request | Event | Exchange | MarkChange


@dataclass
class DevicePeak:
    """Highest readings of one card (or "Host": the process tree's resident memory), bytes; None where not told."""

    process_bytes: float | None = None
    used_bytes: float | None = None
    used_before_bytes: float | None = None
    """In use before the load began, by anybody."""


@dataclass(frozen=True)
class Snapshot:
    """What a face pulls again and again. Revisions tell what changed; `requests` are the newest, oldest first."""

    t: float
    state: State
    exit: Exit | None
    sample: Sample | None
    requests: tuple[Request, ...]
    request_revision: int
    request_count: int
    active_requests: int
    generated_tokens: int
    events: tuple[Event, ...]
    event_revision: int
    log_first: int
    log_last: int
    """Numbers of the oldest and newest log line kept; 0, 0 while there is none."""
    memory: ActualMemory
    peaks: dict[str, DevicePeak] = field(default_factory=dict)
    last_request: Request | None = None
    """The newest that is over: its figures stand beside the live ones, never in their place."""


class Recorder:
    """Takes lines and states from the supervisor (it is a `server.Listener`), samples and events from the sampler.

    Rows go to `sink(row)` in order, called under the recorder's lock: it must only hand on (a queue) and never call
    back from another thread. `t0`: the session's start on `clock`; all times of rows count from it. Everything is
    bounded: `keep_lines` log lines, `keep_requests` finished requests, the series' own limit. `history_s`: for a server
    that ran before us, what is read so soon after `t0` is its log of earlier: requests that ended in it are not ours.
    """

    def __init__(
        self,
        sink: Callable[[Row], object] = lambda row: None,
        *,
        clock: Callable[[], float] = time.monotonic,
        t0: float | None = None,
        keep_lines: int = 20_000,
        keep_requests: int = 1_000,
        series: Series | None = None,
        history_s: float = 0.0,
        on_launch: Callable[[], object] = lambda: None,
        children: Children | None = None,
        batching: BatchRates | None = None,
    ) -> None:
        self._sink, self._clock = sink, clock
        self.t0 = clock() if t0 is None else t0
        self.series = series or Series()
        self.on_launch = on_launch
        """Called when a request begins; plug `Sampler.poke` in."""
        self._lock = threading.RLock()
        self._parser = LogParser(children)
        self._batching = batching
        self._tracker = RequestTracker()
        self._joiner = Joiner(self._joined)
        self._joins: dict[int, int] = {}
        self._proxied = False
        self._lines: deque[LogLine] = deque(maxlen=keep_lines)
        self._line_count = 0
        self._requests: dict[int, Request] = {}
        self._keep_requests = keep_requests
        self._shown: tuple[Request, ...] | None = ()
        self._revision = self._request_count = 0
        self._tokens: dict[int, int] = {}
        self._tokens_forgotten = 0
        self._events: list[Event] = []
        self._shown_events: tuple[Event, ...] = ()
        self._event_revision = 0
        self._sample: Sample | None = None
        self._ended = False
        self._last_request: Request | None = None
        self._state: State = State.STOPPED
        self._exit: Exit | None = None
        self._peaks: dict[str, DevicePeak] = {}
        self._shown_peaks: dict[str, DevicePeak] = {}
        """A copy, made anew with each reading: what a snapshot holds does not change afterwards."""
        self._reading_t = math.nan
        self._loading_seen = False
        self._history_until = self.t0 + history_s if history_s > 0 else -math.inf

    # What comes in

    def on_state(self, state: State, t: float, exit_: Exit | None) -> None:
        """server.Listener: `t` is monotonic."""
        with self._lock:
            self._state, self._exit = state, exit_
            data: dict[str, Any] = {"state": state.value}
            if state is State.STARTING:
                self._parser.restarted()
                self._tracker.log_tells = False
                self._loading_seen = self._ended = False
            if exit_ is not None:
                data |= {"code": exit_.code, "reason": str(exit_.reason), "forced": exit_.forced}
                if exit_.diagnosis is not None:
                    data |= {"diagnosis": exit_.diagnosis.id, "line": exit_.diagnosis.line}
            if state in (State.STOPPED, State.FAILED, State.CRASHED):
                # What it did last is no live figure of a server that has ended; a poll may still be under way.
                self._sample, self._ended = None, True
                for request in self._tracker.close(t - self.t0, state is State.CRASHED):
                    self._keep(request)
                self._settle(math.inf)
            self._event(Event(t - self.t0, "state", state.value, data))

    def buses(self) -> dict[str, str]:
        """The PCI id of each device that the engine uses, as far as its log has told (at -lv 4). Any thread."""
        with self._lock:
            return {device.name: device.bus_id for device in self._parser.memory.devices if device.bus_id}

    def on_line(self, line: LogLine) -> None:
        """server.Listener: one line of output."""
        launched = False
        with self._lock:
            self._line_count += 1
            if line.number != self._line_count:
                line = dataclasses.replace(line, number=self._line_count)
            self._lines.append(line)
            self._end_history(line.t)
            for fact in self._parser.feed(line):
                launched = launched or fact.kind == "launch"
                self._fact(dataclasses.replace(fact, t=fact.t - self.t0))
            self._tracker.log_tells = self._parser.tells_requests
        if launched:
            self.on_launch()

    def on_row(self, row: Sample | Event) -> None:
        """The sampler's sink."""
        with self._lock:
            if isinstance(row, Event):
                self._event(row)
                return
            self._sample = None if self._ended else row
            self._end_history(self.t0 + row.t)
            self._settle(row.t)
            columns = sample_columns(row)
            if self._batching is not None:
                ended = self._request_count - self._tracker.active
                columns |= self._batching.feed(row, ended, self._parser.micro_batch)
            self.series.append(row.t, columns)
            self._sink(row)
            if row.reading is not None and row.reading.t != self._reading_t:
                self._reading_t = row.reading.t
                self._measure(row.reading)
            for request in self._tracker.sample(row):
                self._keep(request)
            if row.counters is not None and row.prompt_per_s > 0:
                self._prompts_ended(row)

    def mark(self, text: str, at: float | None = None, **data: Any) -> None:
        """A note of the person's on the time axis, now or `at` a moment of this session that is over."""
        with self._lock:
            self._event(Event(self._clock() - self.t0 if at is None else at, "mark", text, data))

    def change_mark(self, mark: Event, text: str | None, **data: Any) -> None:
        """Another text for a mark of this session, or none: then it goes. Nothing happens where it is gone already."""
        with self._lock:
            if mark.kind != "mark" or mark not in self._events:
                return
            now = None if text is None else Event(mark.t, "mark", text, data)
            at = self._events.index(mark)
            self._events[at:at + 1] = [now] if now is not None else []
            self._show_events()
            self._sink(MarkChange(mark, now))

    def event(self, kind: str, text: str, **data: Any) -> None:
        with self._lock:
            self._event(Event(self._clock() - self.t0, kind, text, data))

    def exchange(self, exchange: Exchange) -> None:
        """What the recording proxy tells, when an exchange begins and when it is over."""
        with self._lock:
            self._proxied = True
            now = self._clock()
            arrived = exchange.arrived if exchange.arrived is not None else math.nan
            if not 0.0 <= now - arrived - (exchange.total_s or 0.0) < _PIPE_LAG_S:  # the clocks are not the same
                arrived = now - (exchange.total_s or 0.0)
            exchange.t_start = arrived - self.t0
            self._sink(exchange)
            if exchange.outcome != "active":
                self._joiner.exchange(exchange)

    def _settle(self, now: float) -> None:
        """What the log has not come to yet may still find its request: a flood of lines is read late."""
        until = self._parser.read_until
        lines = self._lines
        if until is not None and lines and now < math.inf and self.t0 + now - lines[-1].t < _LOG_LAG_S:
            now = min(now, until - self.t0)
        for exchange in self._joiner.settle(now):
            if exchange.generates:
                self._keep(self._tracker.never_ran(exchange))

    def _joined(self, request: Request) -> None:
        """A request's exchange is known now."""
        assert request.exchange is not None
        self._joins[request.number] = request.exchange
        if request.number in self._requests:
            self._requests[request.number] = request
            self._revision += 1
            self._shown = None
        self._sink(request)

    # What comes of it

    def _end_history(self, now: float) -> None:
        if now >= self._history_until > -math.inf:
            self._history_until = -math.inf
            for request in self._tracker.forget_history():
                self._keep(request)

    def _fact(self, fact: Fact) -> None:
        if self._history_until > -math.inf:
            self._tracker.feed(fact)
            return
        if fact.kind == "loaded":
            self._event(Event(fact.t, "memory", str(Text("model loaded")), self._parser.memory.as_dict()))
        elif fact.kind in ("sleeping", "waking"):
            text = Text("went to sleep") if fact.kind == "sleeping" else Text("woke up")
            self._event(Event(fact.t, "state", str(text), {"sleeping": fact.kind == "sleeping"}))
        elif fact.kind == "loading":
            self._loading_seen = True
        for request in self._tracker.feed(fact):
            self._keep(request)
            if fact.kind == "generated" and request.prompt_per_s is not None and request.t_first_token is not None:
                self.series.fill("prompt_per_s", request.t_start, request.t_first_token, request.prompt_per_s)

    def _prompts_ended(self, sample: Sample) -> None:
        """The counters tell a prompt's speed when it is over, /slots hardly before: fill the time that it took."""
        for request in self._requests.values():
            begun = request.t_first_token
            if request.status == "active" and begun is not None and 0 <= sample.t - begun < 2.5:
                self.series.fill("prompt_per_s", request.t_start, begun, sample.prompt_per_s)

    def _keep(self, request: Request) -> None:
        if request.number not in self._requests:
            self._request_count += 0 if request.is_child else 1
        self._requests[request.number] = request
        self._tokens[request.number] = request.generated_tokens or 0
        if request.t_end is not None:
            self._last_request = request
            request.exchange = self._joins.get(request.number, request.exchange)
            if self._proxied and request.exchange is None:
                self._joiner.request(dataclasses.replace(request))
                request.exchange = self._joins.get(request.number)
        while len(self._requests) > self._keep_requests + self._tracker.active:
            oldest = next(iter(self._requests))
            del self._requests[oldest]
            self._joins.pop(oldest, None)
            self._tokens_forgotten += self._tokens.pop(oldest, 0)
        self._revision += 1
        self._shown = None
        self._sink(request)

    def _event(self, event: Event) -> None:
        bisect.insort(self._events, event, key=lambda e: e.t)
        if len(self._events) > 2_000:
            del self._events[:1_000]
        self._show_events()
        self._sink(event)

    def _show_events(self) -> None:
        self._shown_events = tuple(self._events)
        self._event_revision += 1

    def _measure(self, reading: Reading) -> None:
        host = self._peaks.setdefault("Host", DevicePeak())
        host.process_bytes = _higher(host.process_bytes, reading.process_rss_bytes)
        host.used_bytes = _higher(host.used_bytes, reading.ram_used_bytes)
        if host.used_before_bytes is None and not math.isnan(reading.ram_used_bytes):
            host.used_before_bytes = reading.ram_used_bytes
        for device in reading.devices:
            peak = self._peaks.setdefault(device.device, DevicePeak())
            if not device.process_assumed:  # a peak is kept beside the estimate, and teaches it
                peak.process_bytes = _higher(peak.process_bytes, device.process_bytes)
            peak.used_bytes = _higher(peak.used_bytes, device.used_bytes)
            if peak.used_before_bytes is None and not self._loading_seen and not math.isnan(device.used_bytes):
                peak.used_before_bytes = device.used_bytes
        self._shown_peaks = {name: dataclasses.replace(peak) for name, peak in self._peaks.items()}

    # What is pulled

    def snapshot(self) -> Snapshot:
        """Cheap: nothing is copied that has not changed since the last call."""
        with self._lock:
            if self._shown is None:
                self._shown = tuple(self._requests.values())
            last = self._line_count
            return Snapshot(
                t=self._clock() - self.t0, state=self._state, exit=self._exit, sample=self._sample,
                requests=self._shown, request_revision=self._revision, request_count=self._request_count,
                active_requests=self._tracker.active,
                generated_tokens=self._tokens_forgotten + sum(self._tokens.values()),
                events=self._shown_events, event_revision=self._event_revision,
                log_first=self._lines[0].number if self._lines else 0, log_last=last,
                memory=self._parser.memory, peaks=self._shown_peaks, last_request=self._last_request)

    def log(self, after: int = 0, limit: int = 20_000) -> list[LogLine]:
        """Kept lines with numbers greater than `after`, oldest first; at most the newest `limit`."""
        with self._lock:
            if not self._lines or after >= self._line_count:
                return []
            first = max(self._lines[0].number, after + 1, self._line_count - limit + 1)
            count = self._line_count - first + 1
            newest: list[LogLine] = []
            for line in reversed(self._lines):
                if len(newest) == count:
                    break
                newest.append(line)
            newest.reverse()
            return newest

    def excerpt(self, tail: int = 200, problems: int = 100) -> str:
        """For the record: the first warnings and errors, and the last lines, each once."""
        with self._lock:
            lines = list(self._lines)
        marked = [line for line in lines[:-tail or None] if line.level in ("W", "E")][:problems]
        return "\n".join(line.text for line in (*marked, *lines[-tail:]))

    def actual(self) -> dict[str, Any]:
        """Predicted or not, this is what it took: the log's buffers, peaks of the readings, slots. For JSON."""
        with self._lock:
            out = self._parser.memory.as_dict()
            measured = {name: {k: v for k, v in dataclasses.asdict(peak).items() if v is not None}
                        for name, peak in self._peaks.items()}
            if measured:
                out["measured"] = measured
            for key, value in (("n_slots", self._parser.slots), ("n_ctx_slot", self._parser.context_per_slot),
                               ("kv_unified", self._parser.kv_unified)):
                if value is not None:
                    out[key] = value
            return out

    @property
    def parser(self) -> LogParser:
        """What the log said of the server itself: url, slots, context per slot."""
        return self._parser

    @property
    def busy(self) -> bool:
        """True while a request is known to run: the sampler's `active_hint`."""
        return self._tracker.active > 0


def _higher(peak: float | None, value: float) -> float | None:
    if math.isnan(value):
        return peak
    return value if peak is None else max(peak, value)
