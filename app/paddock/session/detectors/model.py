"""What a detector gets and what it gives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from paddock.session.memory import ActualMemory
from paddock.session.model import Event, Request, Sample
from paddock.session.proxy.record import Exchange
from paddock.text import Text

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
else:
    Floats = np.ndarray

Edits = tuple[tuple[str, tuple[str, ...] | None], ...]
HOST = "Host"
_LEAST_SAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong now. `what`: a sentence; `proof`: the figures that show it; `remedy`: what to do.

    `line`: a part of the log line that proves it; `edits`: what a button would change in the plan (option → values,
    None takes it out).
    """

    id: str
    what: Text
    proof: Text
    remedy: Text
    line: str | None = None
    edits: Edits = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, shaped like an issue of a plan."""
        return {"id": f"degraded.{self.id}", "severity": "warning", "option": self.edits[0][0] if self.edits else None,
                "text": str(self.what), "proof": str(self.proof), "fix": str(self.remedy), "line": self.line}


@dataclass(frozen=True)
class Expectation:
    """What should be true of a run: the plan's own figures and this profile's past. Empty or None: not known.

    Bytes by the engine's device name, "Host" for RAM.
    """

    model_bytes: Mapping[str, int] = field(default_factory=dict)
    """Weights that the estimate puts on each device."""
    context_bytes: Mapping[str, int] = field(default_factory=dict)
    """KV cache and state on each device."""
    total_bytes: Mapping[str, int] = field(default_factory=dict)
    """Each card's whole memory."""
    integrated: frozenset[str] = frozenset()
    """Devices that share the host's memory: there it is no spill."""
    threads: int | None = None
    physical_cores: int | None = None
    logical_cores: int | None = None
    context_size: int | None = None
    """--ctx-size of the plan."""
    slots: int | None = None
    draft_tokens: int = 3
    """--spec-draft-n-max."""
    draft_share: float | None = None
    """Bytes of the draft model over those of the model: what one drafted token costs of one real one."""
    past: Sequence[tuple[float, float]] = ()
    """(tokens of context at the middle of an answer, its tokens/s) of earlier sessions of this profile."""
    ceiling: tuple[float, float, int] | None = None
    """Tokens/s that memory speed allows with an empty context, with `depth` tokens of it, and that depth."""

    def slowdown(self, shallow: float, deep: float) -> float | None:
        """How much slower the deeper context alone makes a token, 0…1. A token's time grows evenly with its past."""
        if self.ceiling is None or not self.ceiling[2] or min(self.ceiling[:2]) <= 0:
            return None
        empty, full, depth = self.ceiling

        def seconds(tokens: float) -> float:
            return 1 / empty + min(1.0, tokens / depth) * (1 / full - 1 / empty)

        return seconds(shallow) / seconds(deep)


class Columns(Protocol):
    """What is read of a `session.Series`."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def view(self, name: str, t0: float = ..., t1: float = ..., points: int | None = ...) -> tuple[Any, Any]: ...


@dataclass(frozen=True)
class View:
    """One run at `now` seconds since its start. Nothing before `ready_t` counts: a load is no symptom."""

    now: float
    series: Columns
    ready_t: float = 0.0
    """When this process of the server became ready; NaN while it is not."""
    sample: Sample | None = None
    requests: Sequence[Request] = ()
    events: Sequence[Event] = ()
    memory: ActualMemory = field(default_factory=ActualMemory)
    plan: Expectation = field(default_factory=Expectation)
    exchanges: Sequence[Exchange] = ()
    """The newest that the recording proxy saw to their end."""
    throttles: Mapping[str, Sequence[tuple[float, tuple[str, ...]]]] = field(default_factory=dict)
    """By device: (t, reasons that hold its clocks down) of the last minute's readings, where the driver tells."""

    @property
    def ready(self) -> bool:
        return not math.isnan(self.ready_t)

    def column(self, name: str, start: float, points: int | None = None) -> tuple[Floats, Floats]:
        """Times and values from `start` (but not before it was ready) until now; empty where never recorded."""
        if not self.ready or name not in self.series.names:
            return np.empty(0), np.empty(0)
        start = max(start, self.ready_t)
        t, y = self.series.view(name, start, self.now, points)
        inside = (t >= start) & (t <= self.now)
        return np.asarray(t[inside], np.float64), np.asarray(y[inside], np.float64)

    def last(self, name: str, seconds: float) -> Floats:
        """The known values of the last seconds."""
        _, y = self.column(name, self.now - seconds)
        return y[~np.isnan(y)]

    def mean(self, name: str, seconds: float, least: int = _LEAST_SAMPLES) -> float:
        """NaN where fewer than `least` values are known, or where they reach less than two thirds of the way back."""
        t, y = self.column(name, self.now - seconds)
        known = ~np.isnan(y)
        if known.sum() < least or t[known][0] > self.now - seconds * 2 / 3:
            return math.nan
        return float(y[known].mean())

    def generating(self, seconds: float) -> bool:
        """Whether tokens were made nearly all of that time."""
        t, y = self.column("generation_per_s", self.now - seconds)
        known = ~np.isnan(y)
        if known.sum() < _LEAST_SAMPLES or t[known][0] > self.now - seconds * 2 / 3:
            return False
        return float((y[known] > 0).mean()) >= 0.8

    def working(self, seconds: float) -> bool:
        """Whether requests were under way nearly all of that time, reading or writing."""
        y = self.last("requests_processing", seconds)
        return len(y) >= _LEAST_SAMPLES and float((y > 0).mean()) >= 0.8 and not math.isnan(
            self.mean("requests_processing", seconds))

    def alone(self, start: float) -> bool:
        """Whether never more than one request was under way since then: several share the weights' reading."""
        _, y = self.column("requests_processing", start)
        known = y[~np.isnan(y)]
        return len(known) > 0 and float(known.max()) <= 1.0

    @property
    def cards(self) -> tuple[str, ...]:
        """The devices that were read."""
        return tuple(dict.fromkeys(n.removesuffix(".used_bytes") for n in self.series.names
                                   if n.endswith(".used_bytes") and n.count(".") == 1))
