"""What `paddock sql` knows beyond SQLite: stddev(x), median(x) and percentile(x, p), also as window functions."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import deque

from paddock.text import Text

_OTHERS = {
    "stddev": ("stdev", "std", "stddev_samp", "stddev_pop", "std_dev", "standard_deviation", "variance", "var",
               "var_samp", "var_pop"),
    "percentile": ("percentile_cont", "percentile_disc", "quantile", "quantile_cont", "approx_percentile", "perc",
                   "approx_quantile", "percentile_approx", "p50", "p90", "p95", "p99", "quartile"),
    "median": ("med", "approx_median"),
}
_UNKNOWN = re.compile(r"no such function: (\w+)")


class _Figures:
    """The numbers of a group or of a window's frame; NULL and text do not count."""

    def __init__(self) -> None:
        self.values: deque[float] = deque()

    def step(self, value: object) -> None:
        if isinstance(value, int | float):
            self.values.append(float(value))

    def inverse(self, value: object) -> None:
        """The frame moves on: the oldest leaves it."""
        if isinstance(value, int | float):
            self.values.popleft()

    def value(self) -> float | None:
        raise NotImplementedError

    def finalize(self) -> float | None:
        return self.value()


class _Deviation(_Figures):
    """Of a sample (n - 1); NULL below two numbers."""

    def value(self) -> float | None:
        n = len(self.values)
        if n < 2:
            return None
        mean = math.fsum(self.values) / n
        return math.sqrt(math.fsum((v - mean) ** 2 for v in self.values) / (n - 1))


class _Median(_Figures):
    def value(self) -> float | None:
        return _at(sorted(self.values), 50.0)


class _Percentile(_Figures):
    """Between two numbers, in proportion."""

    share: float | None = None

    def step(self, value: object, share: object = None) -> None:
        if not isinstance(share, int | float) or not 0 <= share <= 100:
            raise ValueError(share)
        self.share = float(share)
        super().step(value)

    def inverse(self, value: object, share: object = None) -> None:
        super().inverse(value)

    def value(self) -> float | None:
        return None if self.share is None else _at(sorted(self.values), self.share)


def _at(values: list[float], percent: float) -> float | None:
    if not values:
        return None
    place = percent / 100 * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def add_functions(connection: sqlite3.Connection) -> None:
    """Make them known to this connection."""
    connection.create_window_function("stddev", 1, _Deviation)
    connection.create_window_function("median", 1, _Median)
    connection.create_window_function("percentile", 2, _Percentile)  # type: ignore[arg-type]


def hint_for(error: Exception) -> Text | None:
    """What to write instead, where another database's spelling was tried or an argument is off; else None."""
    said = str(error)
    known = Text("stddev(x), median(x) and percentile(x, p), p from 0 to 100, are there, beside SQLite's own.")
    if "user-defined aggregate's" in said or "wrong number of arguments to function" in said:
        return known
    found = _UNKNOWN.search(said)
    if found is None:
        return known if re.search(r'near "(GROUP|WITHIN)"|near "\(": syntax', said, re.IGNORECASE) else None
    name = found[1].lower()
    for ours, others in _OTHERS.items():
        if name in others:
            return Text("Write {ours} instead: {known}", ours=ours, known=known)
    return known
