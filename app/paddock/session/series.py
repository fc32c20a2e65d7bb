"""Bounded columns over one time axis, made for live plots of many hours."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Times = npt.NDArray[np.float64]
else:  # numpy.typing takes as long to load as a quarter of numpy
    Floats = Times = np.ndarray

FACTOR = 4
"""Samples of one level that make one bin of the next."""
_FIRST_ROOM = 1024
_DEEPEST = 5
"""Bins of 4096 samples: dropped blocks are multiples of that, so bins stay aligned."""


class _Column:
    """float32 values and, built only for what is drawn, min and max of aligned bins of 4, 16, 64, … samples."""

    def __init__(self, room: int) -> None:
        self.values: Floats = np.full(room, np.nan, np.float32)
        self.low: list[Floats] = []
        self.high: list[Floats] = []
        self.built: list[int] = []

    def grow(self, room: int, used: int) -> None:
        bigger = np.full(room, np.nan, np.float32)
        bigger[:used] = self.values[:used]
        self.values = bigger

    def drop(self, samples: int, used: int) -> None:
        # A fresh array, never a shift in place: views that a plot still holds stay true.
        kept = np.full(len(self.values), np.nan, np.float32)
        kept[: used - samples] = self.values[samples:used]
        self.values = kept
        for level in range(len(self.low)):
            gone = samples // FACTOR ** (level + 1)
            self.low[level] = self.low[level][gone:].copy()
            self.high[level] = self.high[level][gone:].copy()
            self.built[level] = max(0, self.built[level] - gone)

    def build(self, level: int, used: int) -> None:
        """Bring bins of `level` (0: 4 samples) up to date with `used` samples; only whole bins are kept."""
        if level >= len(self.low):
            if level > 0:
                self.build(level - 1, used)
            self.low.append(np.empty(0, np.float32))
            self.high.append(np.empty(0, np.float32))
            self.built.append(0)
        elif level > 0:
            self.build(level - 1, used)
        done, whole = self.built[level], used // FACTOR ** (level + 1)
        if whole <= done:
            return
        below_low = self.values if level == 0 else self.low[level - 1]
        below_high = self.values if level == 0 else self.high[level - 1]
        part = slice(done * FACTOR, whole * FACTOR)
        for array, below, reduce in ((self.low, below_low, np.fmin), (self.high, below_high, np.fmax)):
            new: Floats = reduce.reduce(below[part].reshape(-1, FACTOR), axis=1)
            if len(array[level]) < whole:
                bigger = np.empty(whole + whole // 8 + 64, np.float32)
                bigger[:done] = array[level][:done]
                array[level] = bigger
            array[level][done:whole] = new
        self.built[level] = whole


class Series:
    """Columns by name over a shared time axis `t` (seconds, float64, rising); NaN is a gap.

    Memory: 4 bytes a sample and column, and 3 more for columns that are drawn far out. The default keeps 24 h at
    5 Hz; older samples are dropped in blocks. Columns may appear later; before that they are NaN. One writer, any
    number of readers; arrays from `view` must not be written to and stay valid for as long as they are held.
    """

    def __init__(self, limit: int = 432_000) -> None:
        self._block = max(FACTOR**6, limit // 8 // FACTOR**6 * FACTOR**6)
        self._limit = max(limit, self._block)
        self._room = min(_FIRST_ROOM, self._limit + self._block)
        self._t: Times = np.empty(self._room, np.float64)
        self._columns: dict[str, _Column] = {}
        self._used = 0
        self._dropped = 0
        self._moments: tuple[object, Times] = None, self._t
        self._lock = threading.Lock()

    @classmethod
    def of(cls, t: Times, columns: Mapping[str, npt.ArrayLike]) -> Series:
        """Made of whole columns at once, each as long as `t` (rising)."""
        series = cls(max(1, len(t)))
        series._t, series._used, series._room = np.asarray(t, np.float64), len(t), len(t)
        for name, values in columns.items():
            series._columns[name] = column = _Column(0)
            column.values = np.array(values, np.float32)
        return series

    def __len__(self) -> int:
        return self._used

    @property
    def names(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._columns)

    @property
    def bytes(self) -> int:
        """Memory held by the arrays."""
        with self._lock:
            size = self._t.nbytes
            for column in self._columns.values():
                size += column.values.nbytes + sum(a.nbytes for a in (*column.low, *column.high))
            return size

    def append(self, t: float, row: Mapping[str, float]) -> None:
        """One moment. Columns that `row` does not name get NaN; a time that is not later than the last is ignored."""
        with self._lock:
            if self._used and t <= self._t[self._used - 1]:
                return
            if self._used == self._room:
                self._make_room()
            i = self._used
            self._t[i] = t
            for name, value in row.items():
                column = self._columns.get(name)
                if column is None:
                    column = self._columns[name] = _Column(self._room)
                column.values[i] = value
            self._used = i + 1

    def _make_room(self) -> None:
        full = self._limit + self._block
        if self._room < full:
            self._room = min(full, self._room * 2)
            bigger = np.empty(self._room, np.float64)
            bigger[: self._used] = self._t[: self._used]
            self._t = bigger
            for column in self._columns.values():
                column.grow(self._room, self._used)
            return
        kept = np.empty(self._room, np.float64)
        kept[: self._used - self._block] = self._t[self._block : self._used]
        self._t = kept
        for column in self._columns.values():
            column.drop(self._block, self._used)
        self._used -= self._block
        self._dropped += 1

    def fill(self, name: str, t0: float, t1: float, value: float) -> None:
        """Give the gaps of a column within [t0, t1] a value that became known later."""
        with self._lock:
            column = self._columns.get(name)
            if column is None:
                return
            t = self._t[: self._used]
            first, last = int(np.searchsorted(t, t0, "left")), int(np.searchsorted(t, t1, "right"))
            part = column.values[first:last]
            part[np.isnan(part)] = value
            for level, built in enumerate(column.built):
                column.built[level] = min(built, first // FACTOR ** (level + 1))

    def last(self, name: str) -> float:
        """The newest value; NaN when it is a gap or there is none."""
        with self._lock:
            column = self._columns.get(name)
            return float(column.values[self._used - 1]) if column is not None and self._used else float("nan")

    def span(self) -> tuple[float, float] | None:
        """First and last time, or None while empty."""
        with self._lock:
            return (float(self._t[0]), float(self._t[self._used - 1])) if self._used else None

    def view(
        self, name: str, t0: float = -np.inf, t1: float = np.inf, points: int | None = None
    ) -> tuple[Times, Floats]:
        """Times and values in [t0, t1], with one neighbour on either side so that lines reach the edge.

        Without `points`, or when no more samples than that are there: views, nothing copied. Otherwise minimum and
        maximum of aligned bins, at most about 2 × `points` values, so that spikes stay and nothing shimmers. A bin
        is NaN only where all of it is. An unknown name gives NaN for every time.
        """
        with self._lock:
            used = self._used
            t = self._t[:used]
            first = max(0, int(np.searchsorted(t, t0, "left")) - 1)
            last = min(used, int(np.searchsorted(t, t1, "right")) + 1)
            column = self._columns.get(name)
            if column is None:
                return t[first:last], np.full(max(0, last - first), np.nan, np.float32)
            level = self._level(last - first, points)
            if level < 0 or last - first == 0:
                return t[first:last], column.values[first:last]
            column.build(level, used)
            return self._decimated(column, level, first, last)

    @staticmethod
    def _level(samples: int, points: int | None) -> int:
        level = -1
        if points is not None:
            while level < _DEEPEST and samples // FACTOR ** (level + 1) > max(points, 8):
                level += 1
        return level

    def _decimated(self, column: _Column, level: int, first: int, last: int) -> tuple[Times, Floats]:
        """Whole bins of `level`, then what is left over in bins of the finer levels, then single samples."""
        times: list[Times] = []
        values: list[Floats] = []
        # All columns of a picture share their moments: the last ones are kept for the next column.
        key = level, first, last, self._used, self._dropped, tuple(column.built[: level + 1])
        known = self._moments[1] if self._moments[0] == key else None
        for one in range(level, -1, -1):
            size = FACTOR ** (one + 1)
            bin0, bin1 = first // size, min(column.built[one], last // size + (one == level and last % size > 0))
            if bin1 <= bin0:
                continue
            part = slice(bin0 * size, bin1 * size, size)
            edges = np.empty(2 * (bin1 - bin0), np.float32)
            edges[0::2], edges[1::2] = column.low[one][bin0:bin1], column.high[one][bin0:bin1]
            values.append(edges)
            if known is None:
                moments = np.empty(2 * (bin1 - bin0))
                moments[0::2] = self._t[part]
                moments[1::2] = self._t[part.start + size // 2:part.stop:size]
                times.append(moments)
            first = bin1 * size
        if first < last:
            values.append(column.values[first:last])
            if known is None:
                times.append(self._t[first:last])
        if known is None:
            known = np.concatenate(times)
            self._moments = key, known
        return known, np.concatenate(values)
