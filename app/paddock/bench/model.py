"""What a diagnosis rests on: the machine before it began, the measured requests, and the figures that follow."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

OK, INVALID, FAILED = "ok", "invalid", "failed"


@dataclass(frozen=True)
class Measured:
    """One request. Rates as the server tells them; times in seconds from when it was sent; None: not told.

    `state`: ok; invalid (an answer without tokens, or with tokens from the cache: excluded from every figure); failed.
    Memory is read after the request, bytes held by the server's processes, by device.
    """

    number: int
    state: str
    why: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    generated_tokens: int | None = None
    prompt_per_s: float | None = None
    generation_per_s: float | None = None
    ttft_s: float | None = None
    total_s: float | None = None
    ram_bytes: float | None = None
    device_bytes: Mapping[str, float] = field(default_factory=dict)
    throttle: tuple[str, ...] = ()
    """"CUDA0: sw_thermal_slowdown": what held clocks down when it ended."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Before:
    """The machine before the first request. Percent 0…100; None: not told."""

    cpu_pct: float | None = None
    gpu_pct: Mapping[str, float] = field(default_factory=dict)
    load_1min: float | None = None
    cores: int | None = None
    available_bytes: float | None = None
    other_bytes: Mapping[str, float] = field(default_factory=dict)
    """Memory that other programs hold, by card."""
    ram_bytes: float | None = None
    device_bytes: Mapping[str, float] = field(default_factory=dict)
    """Held by the server itself."""
    busy_requests: int = 0
    """Requests of others that ran already."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Figures:
    """The first request against the median of the others; spread: (highest - lowest) / median of the others' rates."""

    valid: int
    first_ttft_s: float | None
    rest_ttft_s: float | None
    first_generation_per_s: float | None
    rest_generation_per_s: float | None
    first_prompt_per_s: float | None
    rest_prompt_per_s: float | None
    generation_spread: float | None
    prompt_spread: float | None
    drift: float | None
    """Generation of the last three over that of the second to fourth, less 1: below 0 it got slower."""
    memory_steps: Mapping[str, tuple[float, ...]]
    """By device ("Host": RAM): bytes that each request added; the first stands for warm-up."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def figures_of(before: Before, rows: Sequence[Measured]) -> Figures:
    """Pure. Only valid rows count; the first request is the warm-up and never in the others' figures."""
    good = [r for r in rows if r.state == OK]
    first = next((r for r in good if r.number == 1), None)
    rest = [r for r in good if r.number > 1]
    speeds = [r.generation_per_s for r in rest if r.generation_per_s]
    return Figures(
        len(good), first.ttft_s if first else None, _median([r.ttft_s for r in rest]),
        first.generation_per_s if first else None, _median(speeds), first.prompt_per_s if first else None,
        _median([r.prompt_per_s for r in rest]), _spread(speeds), _spread([r.prompt_per_s for r in rest]),
        statistics.median(speeds[-3:]) / statistics.median(speeds[:3]) - 1 if len(speeds) >= 6 else None,
        _steps(before, rows))


def _median(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return statistics.median(known) if known else None


def _spread(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v]
    return (max(known) - min(known)) / statistics.median(known) if len(known) >= 3 else None


def _steps(before: Before, rows: Sequence[Measured]) -> dict[str, tuple[float, ...]]:
    held = [{"Host": r.ram_bytes, **r.device_bytes} for r in rows]
    start: dict[str, float | None] = {"Host": before.ram_bytes, **before.device_bytes}
    out = {}
    for name in dict.fromkeys([*start, *(n for one in held for n in one)]):
        values = [start.get(name), *(one.get(name) for one in held)]
        pairs = list(itertools.pairwise(values))
        steps = tuple(b - a for a, b in pairs if a is not None and b is not None)
        if steps and len(steps) == len(pairs):
            out[name] = steps
    return out
