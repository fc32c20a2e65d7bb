"""Live speeds out of counts: windows that know gaps, resets and idle times."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

from paddock.session.model import SlotSample

WINDOW_S = 1.0
"""Speeds are means over the last second, or over one gap in polling where that is longer."""
_NAN = math.nan


class SlotRates:
    """One slot's counts since its task began (contract section 4: d(n_decoded)/dt while id_task is unchanged)."""

    def __init__(self) -> None:
        self._task: int | None = None
        self._decoded: deque[tuple[float, float]] = deque()
        self._prompt_first: tuple[float, float] | None = None
        self._prompt_last: tuple[float, float] | None = None

    def forget(self) -> None:
        """After a missed poll long enough to hide anything."""
        self._task = None

    def update(self, t: float, task: int | None, decoded: float, processed: float) -> tuple[float, float]:
        """Counts of a busy slot at `t`; returns (generation, prompt) tokens/s, NaN where not known."""
        if task != self._task or (self._decoded and decoded < self._decoded[-1][1]):
            self._task = task
            self._decoded.clear()
            self._prompt_first = self._prompt_last = None
        return self._generation(t, decoded), self._prompt(t, decoded, processed)

    def _generation(self, t: float, decoded: float) -> float:
        if math.isnan(decoded) or decoded <= 0:
            return _NAN
        window = self._decoded
        # The newest point that is a whole window old stays: it is the far end.
        while len(window) > 1 and window[1][0] <= t - WINDOW_S:
            window.popleft()
        rate = _NAN
        if window and t > window[0][0]:
            rate = (decoded - window[0][1]) / (t - window[0][0])
        window.append((t, decoded))
        return rate

    def _prompt(self, t: float, decoded: float, processed: float) -> float:
        """Mean over the steps seen so far: the count moves once per batch, so a short window shows a staircase."""
        if math.isnan(processed) or decoded > 0:
            return _NAN
        if self._prompt_first is None or self._prompt_last is None:
            self._prompt_first = self._prompt_last = (t, processed)
            return _NAN
        if processed > self._prompt_last[1]:
            self._prompt_last = (t, processed)
        span = self._prompt_last[0] - self._prompt_first[0]
        return (self._prompt_last[1] - self._prompt_first[1]) / span if span > 0 else _NAN


def slot_sample(t: float, raw: Mapping[str, Any], rates: SlotRates) -> SlotSample:
    """One element of GET /slots. Fields that a build has not are NaN; `is_processing` alone marks it busy."""
    busy = bool(raw.get("is_processing"))
    task = raw.get("id_task")
    decoded = _decoded(raw)
    processed = _float(raw.get("n_prompt_tokens_processed"))
    generation = prompt = progress = _NAN
    phase = "idle"
    if busy:
        generation, prompt = rates.update(t, task, decoded, processed)
        phase = "prompt" if decoded == 0 else "generating"
    else:
        rates.forget()
    return SlotSample(
        id=int(raw.get("id", 0)), busy=busy, phase=phase, task=task if isinstance(task, int) else None,
        context_used=_float(raw.get("n_prompt_tokens")), context_limit=_float(raw.get("n_ctx")),
        prompt_done=processed if busy else _NAN, generated=decoded if busy else _NAN,
        generation_per_s=generation, prompt_per_s=prompt, prompt_progress=progress,
        cached=_float(raw.get("n_prompt_tokens_cache")) if busy else _NAN,
        speculative=bool(raw.get("speculative")))


def _float(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else _NAN


def _decoded(raw: Mapping[str, Any]) -> float:
    """n_decoded stands in next_token, which is a list of one or an object, or at the top, by build."""
    inner = raw.get("next_token")
    if isinstance(inner, list):
        inner = inner[0] if inner else None
    value = inner.get("n_decoded") if isinstance(inner, Mapping) else None
    return _float(raw.get("n_decoded") if value is None else value)


def read_counters(data: Any) -> dict[str, float] | None:
    """GET /metrics, as text or as a mapping of names, to {name without "llamacpp:": value}; None if it is neither."""
    if isinstance(data, Mapping):
        pairs = [(str(k), v) for k, v in data.items()]
    elif isinstance(data, str):
        pairs = [(parts[0], parts[1]) for parts in (line.rsplit(None, 1) for line in data.splitlines())
                 if len(parts) == 2 and not parts[0].startswith("#")]
    else:
        return None
    out = {}
    for name, value in pairs:
        try:
            out[name.removeprefix("llamacpp:")] = float(value)
        except (TypeError, ValueError):
            continue
    return out


class CounterRates:
    """Busy-time rates out of two scrapes: d(tokens)/d(seconds); a falling counter is a restart and a gap.

    The *_seconds gauges are never used: any other scraper resets their window, and builds disagree on them.
    """

    def __init__(self, acceptance_window_s: float = 30.0) -> None:
        self._window_s = acceptance_window_s
        self._last: Mapping[str, float] | None = None
        self._last_t = -math.inf
        self._drafts: deque[tuple[float, float, float]] = deque()
        self.acceptance = _NAN
        self.prompt_per_s = _NAN
        self.generation_per_s = _NAN
        self.decodes_per_s = _NAN
        self.waiting = _NAN
        self.processing = _NAN

    def clear(self) -> None:
        """No answer: nothing is known until two more."""
        self._last = None
        self.waiting = self.processing = self.prompt_per_s = self.generation_per_s = self.decodes_per_s = _NAN
        self.acceptance = _NAN

    def update(self, t: float, counters: Mapping[str, float]) -> None:
        last, self._last = self._last, counters
        span, self._last_t = t - self._last_t, t
        self.waiting = counters.get("requests_deferred", _NAN)
        self.processing = counters.get("requests_processing", _NAN)
        self.prompt_per_s = self.generation_per_s = self.decodes_per_s = _NAN
        if last is None or counters.get("n_decode_total", 0.0) < last.get("n_decode_total", 0.0):
            self._drafts.clear()
            self.acceptance = _NAN
        else:
            self.prompt_per_s = _ratio(counters, last, "prompt_tokens_total", "prompt_seconds_total")
            # The first token of an answer takes none of this time; at least one answer ended.
            self.generation_per_s = _ratio(counters, last, "tokens_predicted_total", "tokens_predicted_seconds_total",
                                           free=1.0)
            steps = counters.get("n_decode_total", _NAN) - last.get("n_decode_total", _NAN)
            self.decodes_per_s = steps / span if span > 0 and steps > 0 else _NAN
        self._accept(t, counters)

    def _accept(self, t: float, counters: Mapping[str, float]) -> None:
        drafted = counters.get("spec_decode_num_draft_tokens_total", 0.0)
        accepted = counters.get("spec_decode_num_accepted_tokens_total", 0.0)
        points = self._drafts
        points.append((t, drafted, accepted))
        while len(points) > 2 and points[1][0] <= t - self._window_s:
            points.popleft()
        grown = drafted - points[0][1]
        self.acceptance = (accepted - points[0][2]) / grown if grown > 0 else _NAN


def _ratio(now: Mapping[str, float], before: Mapping[str, float], tokens: str, seconds: str,
           free: float = 0.0) -> float:
    if tokens not in now or seconds not in now:
        return _NAN
    grown, spent = now[tokens] - before.get(tokens, 0.0) - free, now[seconds] - before.get(seconds, 0.0)
    return grown / spent if grown > 0 and spent > 1e-6 else _NAN
