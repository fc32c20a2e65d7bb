"""A session's rows as values. Times `t` are seconds since the session started (monotonic); stamps are UTC."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paddock.hardware.model import Reading


@dataclass(frozen=True)
class SlotSample:
    """One slot at one poll. Rates in tokens/s over the last 0.5 to 1 s; NaN when not generating or not known."""

    id: int
    busy: bool
    phase: str
    """idle, prompt, generating."""
    task: int | None
    context_used: float
    context_limit: float
    prompt_done: float
    generated: float
    generation_per_s: float
    prompt_per_s: float
    prompt_progress: float
    """0…1, NaN when the total is not known."""
    cached: float = math.nan
    """Prompt tokens of this task that came from the cache."""
    speculative: bool = False


@dataclass(frozen=True)
class Sample:
    """Everything at one moment; NaN where there was no answer, never the last value."""

    t: float
    generation_per_s: float
    prompt_per_s: float
    context_used: float
    requests_processing: float
    requests_waiting: float
    acceptance: float
    """Accepted / drafted over the last window, NaN without drafts."""
    slots: tuple[SlotSample, ...]
    reading: Reading | None
    answered: bool
    sleeping: bool = False
    counters: Mapping[str, float] | None = None
    """A fresh /metrics answer (names without "llamacpp:"), only in the sample that fetched it."""


@dataclass
class Request:
    """One request, as far as log and counters (or later the proxy) tell it; None where unknown.

    Rates are the server's own: evaluated / prompt time, and (generated - 1) / generation time (the first token
    belongs to the prompt). `ttft_s` counts from the moment a slot took the request; waiting for a slot is not in it.
    """

    number: int
    task: int | None
    slot: int | None
    t_start: float
    t_end: float | None = None
    t_first_token: float | None = None
    prompt_tokens: int | None = None
    """The whole prompt, cached part included."""
    cached_tokens: int | None = None
    generated_tokens: int | None = None
    prompt_per_s: float | None = None
    generation_per_s: float | None = None
    ttft_s: float | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    context_used: int | None = None
    truncated: bool = False
    status: str = "active"
    """active, done, cancelled, failed."""
    progress: float | None = None
    """Prompt progress 0…1 while active, where the log told it."""
    source: str = "log"
    """log; slots (seen in /slots only, times to a poll); counters (seen in /metrics only, may stand for several);
    proxy (an exchange that no slot took)."""
    evaluated_tokens: int | None = None
    """Prompt tokens really computed: prompt_tokens - cached_tokens, and what `prompt_per_s` counts."""
    is_child: bool = False
    """A further answer to another request (n > 1): its tokens count, the request does not."""
    error: str | None = None
    exchange: int | None = None
    """Number of the exchange that it came with through the recording proxy; several may share one."""
    image_ms: float | None = None
    """What the projector took for its images."""

    @property
    def prompt_rate_means_something(self) -> bool:
        """False for a prompt too short, or too much of it cached, to tell a speed: leave it out of averages."""
        return self.prompt_per_s is not None and (self.evaluated_tokens or 0) >= 32


@dataclass(frozen=True)
class Event:
    """A mark on the time axis. kind: state, request, mark, issue, recovered, memory, cache, fit, log."""

    t: float
    kind: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def in_full(self) -> str:
        """The text, and with a finding of the detectors its proof and its remedy."""
        more = (self.data.get("proof"), self.data.get("fix")) if "proof" in self.data else ()
        return " ".join(str(part) for part in (self.text, *more) if part)


@dataclass(frozen=True)
class MarkChange:
    """A mark of the person's (an Event of kind "mark") that was edited, or deleted where `now` is None."""

    was: Event
    now: Event | None
