"""The one thread that asks the server and the machine, on an absolute schedule."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from paddock.hardware.model import Reading
from paddock.session.model import Event, Sample, SlotSample
from paddock.session.rates import CounterRates, SlotRates, read_counters, slot_sample
from paddock.session.suspend import SuspendWatch
from paddock.text import Text
from paddock.units import seconds_text

_NAN = math.nan
OK, UNAUTHORISED, FORBIDDEN, NOT_FOUND, DISABLED = 200, 401, 403, 404, 501


class Answer(Protocol):
    """What one GET gave: the HTTP code, None when there was no answer in time, and the decoded body."""

    @property
    def code(self) -> int | None: ...
    @property
    def data(self) -> Any: ...


class ServerClient(Protocol):
    """What the sampler asks of a `server.Client`; each call ends within about a second."""

    def props(self) -> Answer: ...
    def slots(self) -> Answer: ...
    def metrics(self) -> Answer: ...
    def close(self) -> None: ...


class ReadingSource(Protocol):
    """The machine, read in the sampler's thread."""

    def read(self) -> Reading | None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class SamplerSpec:
    """How to poll.

    sleeps: the server was started with --sleep-idle-seconds; None: not known (attached), then we behave as if.
    Polling /slots or /metrics without a pause of more than a second keeps abandoned non-streaming requests alive
    (contract section 4 a); hence `burst` polls, then `pause_s` without.
    """

    slots_s: float = 0.2
    metrics_s: float = 1.0
    idle_s: float = 1.15
    """Between polls while nothing runs; more than the second that a cancellation needs."""
    burst: int = 10
    pause_s: float = 1.3
    reading_s: float = 0.9
    refused_s: float = 30.0
    sleeps: bool | None = False
    use_slots: bool = True
    use_metrics: bool = True


class Sampler:
    """Polls from `start` until `stop`; rows (`Sample`, `Event`) go to `sink`, called in this thread.

    client_factory and readings_factory are called in this thread (a reading source may be None: no hardware figures).
    own_requests: true while every request is our own, then there are no pauses. active_hint: true while the log says
    that something runs. clock: monotonic seconds; wait(seconds) returns true when it is time to stop; `t0` is the
    session's start on that clock.
    """

    def __init__(
        self,
        client_factory: Callable[[], ServerClient],
        readings_factory: Callable[[], ReadingSource | None],
        sink: Callable[[Sample | Event], object],
        *,
        spec: SamplerSpec | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
        t0: float | None = None,
        own_requests: Callable[[], bool] = lambda: False,
        active_hint: Callable[[], bool] = lambda: False,
        name: str = "sampler",
        suspended: SuspendWatch | None = None,
    ) -> None:
        self.spec = spec or SamplerSpec()
        self._client_factory, self._readings_factory, self._sink = client_factory, readings_factory, sink
        self._clock = clock
        self._stop = threading.Event()
        self._poked = threading.Event()
        self._wait = wait or self._sleep
        self._t0 = clock() if t0 is None else t0
        self._own_requests, self._active_hint = own_requests, active_hint
        self._suspended = suspended or SuspendWatch()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._client: ServerClient | None = None
        self._readings: ReadingSource | None = None
        self._rates: dict[int, SlotRates] = {}
        self._counters = CounterRates()
        self._reading: Reading | None = None
        self._reading_due = self._metrics_due = self._props_due = -math.inf
        self._not_before: dict[str, float] = {}
        self._told = (False, False)
        """Whether the slots told generation, prompt speed since the counters were last read."""
        self._noticed: set[str] = set()
        self._polls = 0
        self._last_poll = -math.inf
        self._busy = self._asleep = False
        self._router = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end; returns at once."""
        self._stop.set()
        self._poked.set()

    def poke(self) -> None:
        """Something began (the log said so): poll now instead of at the end of an idle pause. From any thread."""
        self._poked.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end; true when the thread is gone."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self.open()
        try:
            due = self._clock()
            while not self._stop.is_set():
                pause = self.tick()
                # Absolute: the next moment follows from the last planned one, not from when the answers came.
                due += pause
                now = self._clock()
                if pause > 1.0:
                    due = max(due, now + self.spec.idle_s)
                elif due < now:
                    due = now
                if self._wait(due - now):
                    break
                due = min(due, self._clock())
        finally:
            self.close()

    def _sleep(self, seconds: float) -> bool:
        """Until it is time, or until poked while idle. Pokes never eat the pause that cancellations need."""
        ends = self._clock() + seconds
        self._poked.clear()
        while not self._stop.is_set():
            left = ends - self._clock()
            if left <= 0:
                break
            if not self._poked.wait(left):
                break
            self._poked.clear()
            if self._polls < self.spec.burst and self._clock() - self._last_poll >= self.spec.slots_s:
                break
        return self._stop.is_set()

    def open(self) -> None:
        """Make client and reading source, in the calling thread (`start` does it in its own)."""
        self._client, self._readings = self._client_factory(), self._readings_factory()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        if self._readings is not None:
            self._readings.close()

    def tick(self) -> float:
        """One round of polls and one row; returns the seconds from this planned moment to the next."""
        now = self._clock()
        if (slept := self._suspended.slept_s()) > 0:
            self._resumed(now, slept)
        if now - self._last_poll > 1.05:
            self._polls = 0
        self._last_poll = now
        if self._readings is not None and now >= self._reading_due:
            self._reading = self._readings.read()
            self._reading_due = now + self.spec.reading_s
        asleep, answered = self._ask_sleep(now)
        slots: tuple[SlotSample, ...] = ()
        fresh: dict[str, float] | None = None
        if not asleep and not self._router:
            fresh, metrics_answered = self._ask_metrics(now)
            slots, slots_answered = self._ask_slots(now)
            answered = answered or metrics_answered or slots_answered
        sample = self._sample(now, slots, fresh, answered, asleep)
        self._busy = sample.requests_processing > 0
        self._sink(sample)
        return self._pause(answered, asleep)

    def _resumed(self, now: float, slept_s: float) -> None:
        """After a suspend: nothing is reckoned across it, and drivers are opened anew."""
        for rates in self._rates.values():
            rates.forget()
        self._counters.clear()
        self._not_before.clear()
        self._reading, self._reading_due = None, -math.inf
        if self._readings is not None:
            self._readings.close()
            self._readings = self._readings_factory()
        self._sink(Event(now - self._t0, "state", str(Text("the computer was suspended for {time}",
                                                           time=seconds_text(slept_s))), {"suspended_s": slept_s}))

    def _pause(self, answered: bool, asleep: bool) -> float:
        spec = self.spec
        self._polls += 1
        if not answered or asleep or self._router or not (self._busy or self._active_hint()):
            return spec.idle_s
        if self._polls >= spec.burst and not self._own_requests():
            self._polls = 0
            return spec.pause_s
        return spec.slots_s

    # What is asked

    def _allowed(self, what: str, now: float) -> bool:
        return now >= self._not_before.get(what, -math.inf)

    def _ask_sleep(self, now: float) -> tuple[bool, bool]:
        """(asleep, answered). /props neither wakes a server nor keeps it awake."""
        if (self.spec.sleeps is False and not self._router) or not self._allowed("props", now):
            return False, False
        if now < self._props_due:
            return self._asleep, False
        self._props_due = now + self.spec.metrics_s * 0.95
        self._asleep = False
        answer = self._client.props() if self._client else None
        if answer is None or answer.code != OK or not isinstance(answer.data, dict):
            self._refused("props", answer, now)
            return False, False
        if answer.data.get("role") == "router" and not self._router:
            self._router = True
            self._notice("router", Text("This is a router: its models run in servers of their own, so there are no "
                                        "figures of requests here."))
        self._asleep = bool(answer.data.get("is_sleeping"))
        return self._asleep, True

    def _ask_metrics(self, now: float) -> tuple[dict[str, float] | None, bool]:
        if not self.spec.use_metrics or not self._allowed("metrics", now):
            return None, False
        if now < self._metrics_due:
            return None, False
        self._metrics_due = now + self.spec.metrics_s * 0.95
        answer = self._client.metrics() if self._client else None
        counters = read_counters(answer.data) if answer is not None and answer.code == OK else None
        if counters is None:
            self._counters.clear()
            self._refused("metrics", answer, now)
            return None, False
        self._counters.update(now, counters)
        return counters, True

    def _ask_slots(self, now: float) -> tuple[tuple[SlotSample, ...], bool]:
        if not self.spec.use_slots or not self._allowed("slots", now):
            return (), False
        # GET /slots wakes a sleeping server and keeps an idle one from sleeping: only while something runs.
        if self.spec.sleeps is not False and not (self._counters.processing > 0 or self._active_hint()):
            return (), False
        answer = self._client.slots() if self._client else None
        if answer is None or answer.code != OK or not isinstance(answer.data, Sequence):
            for rates in self._rates.values():
                rates.forget()
            self._refused("slots", answer, now)
            return (), False
        then = self._clock()
        raw = [one for one in answer.data if isinstance(one, dict)]
        return tuple(slot_sample(then, one, self._rates.setdefault(int(one.get("id", i)), SlotRates()))
                     for i, one in enumerate(raw)), True

    def _refused(self, what: str, answer: Answer | None, now: float) -> None:
        """Say once why there are no figures, and ask rarely from then on (each refused key is a line in the log)."""
        code = answer.code if answer is not None else None
        if code in (UNAUTHORISED, FORBIDDEN):
            self._not_before = dict.fromkeys(("props", "metrics", "slots"), now + self.spec.refused_s)
            self._notice("key", Text("The server asks for a key that we do not have: live figures are off."))
        elif code == DISABLED:
            self._not_before[what] = now + self.spec.refused_s
            texts = {"metrics": Text("Metrics are off: start the server with --metrics for counters and waiting "
                                     "requests."),
                     "slots": Text("Slots are off: the server was started with --no-slots, so there are no live "
                                   "tokens per second.")}
            if what in texts:
                self._notice(what, texts[what])
        elif code == NOT_FOUND:
            self._not_before[what] = now + self.spec.refused_s
            self._notice(f"{what}_path", Text("The server does not know /{path}: is there an --api-prefix?", path=what))

    def _notice(self, id_: str, text: Text) -> None:
        if id_ not in self._noticed:
            self._noticed.add(id_)
            self._sink(Event(self._clock() - self._t0, "issue", str(text), {"id": f"sampler.{id_}"}))

    # What it means

    def _sample(self, now: float, slots: tuple[SlotSample, ...], fresh: dict[str, float] | None,
                answered: bool, asleep: bool) -> Sample:
        counters = self._counters
        busy = [s for s in slots if s.busy]
        known = bool(slots) or not math.isnan(counters.processing)
        processing = float(len(busy)) if slots else (counters.processing if answered else _NAN)
        if asleep:
            processing = 0.0
        idle = asleep or (answered and known and processing == 0)
        generation = prompt = 0.0 if idle else _NAN
        if busy:
            generation = _total([s.generation_per_s for s in busy if s.phase == "generating"])
            prompt = _total([s.prompt_per_s for s in busy if s.phase == "prompt"])
        told = generation > 0, prompt > 0
        if fresh is not None:
            # Requests that began and ended between two polls are in the counters alone. What the slots told since the
            # counters were last read is in them too: an idle server would seem to work once more.
            if not told[0] and not (idle and self._told[0]) and not math.isnan(counters.generation_per_s):
                generation = counters.generation_per_s
            if not told[1] and not (idle and self._told[1]) and not math.isnan(counters.prompt_per_s):
                prompt = counters.prompt_per_s
            if math.isnan(generation) and processing == 1 and _undecoded(busy):
                generation = counters.decodes_per_s
        self._told = told if fresh is not None else (told[0] or self._told[0], told[1] or self._told[1])
        used = [s.context_used for s in slots if not math.isnan(s.context_used)]
        return Sample(
            t=now - self._t0, generation_per_s=generation, prompt_per_s=prompt,
            context_used=sum(used) if slots else _NAN, requests_processing=processing,
            requests_waiting=0.0 if asleep else counters.waiting if answered else _NAN,
            acceptance=counters.acceptance if answered else _NAN, slots=slots, reading=self._reading,
            answered=answered, sleeping=asleep, counters=fresh)


def _total(rates: list[float]) -> float:
    """Sum of what is known; NaN while none is, 0 while nobody is in that phase."""
    known = [rate for rate in rates if not math.isnan(rate)]
    return sum(known) if known or not rates else _NAN


def _undecoded(busy: list[SlotSample]) -> bool:
    """Builds whose /slots lack n_decoded, or servers without /slots."""
    return all(math.isnan(s.generated) for s in busy)
