"""Figures for axes: calm tops, round steps, time ticks, thinning of long series. Pure numpy, no Qt.

A y range that follows each sample makes every curve twitch. Here it grows at once, to the next round figure, and
shrinks only when the curve has stayed well below it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
_SHRINK = 0.4
"""The top falls only when the peak is below this share of it."""


def calm_top(peak: float, current: float, floor: float) -> float:
    """The top of a y range that starts at 0: the next of 1, 2, 4, 5, 8 × 10^n over `peak`, at least `floor`.

    `current` (0: none yet) stays while the peak is between 40 % and 100 % of it. A NaN peak keeps the current top.
    """
    if math.isnan(peak) or peak <= 0:
        return max(current, floor)
    if current >= peak and (peak >= _SHRINK * current or current <= floor):
        return current
    power = 10.0 ** math.floor(math.log10(peak))
    return max(next(f * power for f in (1, 2, 4, 5, 8, 10) if f * power >= peak * 0.999999), floor)


def power_top(peak: float, current: float, floor: float) -> float:
    """As `calm_top`, in powers of two: for tokens, whose limits are such."""
    if math.isnan(peak) or peak <= 0:
        return max(current, floor)
    if current >= peak and (peak >= _SHRINK * current or current <= floor):
        return current
    return max(2.0 ** math.ceil(math.log2(peak)), floor)


def time_step(span_s: float, most: int) -> int:
    """The smallest round step (seconds) that cuts `span_s` into at most `most` parts."""
    for step in _TIME_STEPS:
        if span_s <= step * max(most, 1):
            return step
    return math.ceil(span_s / max(most, 1) / 86400) * 86400


def time_ticks(start_s: float, end_s: float, most: int) -> list[float]:
    """Round moments between start and end, both included."""
    step = time_step(end_s - start_s, most)
    first = math.ceil(start_s / step - 1e-9) * step
    return [float(t) for t in np.arange(first, end_s + step * 1e-6, step)]


def clock_text(seconds: float) -> str:
    """Seconds since the start as a clock: 75 -> "01:15", 4000 -> "1:06:40"."""
    sign, whole = ("−" if seconds < -0.5 else ""), round(abs(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{sign}{hours}:{minutes:02d}:{left:02d}" if hours else f"{sign}{minutes:02d}:{left:02d}"


def short_text(value: float, kilo: float = 1000.0) -> str:
    """An axis figure in at most four signs: 0, 50, 16k, 1.5k, 2M; small ranges keep one decimal.

    `kilo` 1024 says 32k for 32,768 tokens, as people do.
    """
    if value == 0:
        return "0"
    for limit, name in ((kilo**3, "G"), (kilo**2, "M"), (kilo, "k")):
        if abs(value) >= limit:
            scaled = value / limit
            whole = scaled >= 10 or abs(scaled - round(scaled)) < 0.05
            return f"{scaled:.0f}{name}" if whole else f"{scaled:.1f}{name}"
    if abs(value - round(value)) < 1e-9:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value * 10 - round(value * 10)) < 1e-6 else f"{value:.2f}"


def visible(t: Floats, start_s: float, end_s: float) -> slice:
    """The part of a sorted time column that a window shows, one sample more on either side so that lines reach out."""
    first = int(np.searchsorted(t, start_s, side="left"))
    last = int(np.searchsorted(t, end_s, side="right"))
    return slice(max(first - 1, 0), min(last + 1, len(t)))


def thin(t: Floats, y: Floats, part: slice, most: int) -> tuple[Floats, Floats]:
    """The points to draw of `part`: views where few, else the lowest and highest of each bin, so that spikes stay.

    Bins are cut at multiples of their size from the first sample of the series: a window that scrolls shows the same
    bins again and does not shimmer. A bin of NaN alone stays NaN (a gap); NaN beside figures is ignored.
    """
    count = part.stop - part.start
    size = -(-count // max(most // 2, 1))
    if size <= 2:
        return t[part], y[part]
    first = part.start // size * size
    bins = (part.stop - first) // size
    cut = first + bins * size
    block = y[first:cut].reshape(bins, size)
    out = np.empty(bins * 2)
    out[0::2], out[1::2] = np.fmin.reduce(block, axis=1), np.fmax.reduce(block, axis=1)
    times = np.repeat(t[first:cut:size], 2)
    times[1::2] += (t[cut - 1] - t[first]) / max(bins, 1) / 2
    if cut < part.stop:
        return np.concatenate((times, t[cut:part.stop])), np.concatenate((out, y[cut:part.stop]))
    return times, out


def peak(y: Floats) -> float:
    """The highest figure; NaN where there is none."""
    return float(np.fmax.reduce(y)) if len(y) else math.nan


def hold_lone(y: Floats) -> Floats:
    """A value with gaps on both sides is held for one sample more, so that a line has something to draw."""
    if len(y) < 2:
        return y
    known = np.isfinite(y)
    before = np.concatenate(([False], known[:-1]))
    lone = known[:-1] & ~before[:-1] & ~known[1:]
    out = y.copy()
    out[1:][lone] = y[:-1][lone]
    return out


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where `flags` is set: (first, last) index of each run."""
    if not len(flags):
        return []
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def value_at(t: Floats, y: Floats, moment: float, reach_s: float = 1.6) -> float:
    """The sample nearest to a moment; NaN where the nearest is further away than `reach_s`."""
    if not len(t):
        return math.nan
    i = int(np.searchsorted(t, moment))
    if i == len(t) or (i and moment - t[i - 1] <= t[i] - moment):
        i -= 1
    return float(y[i]) if abs(float(t[i]) - moment) <= reach_s else math.nan
