"""What the plots draw: columns over one time axis, requests, events. A live run and a stored session both become it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from paddock.desktop.plots.scale import Floats, runs, thin, value_at, visible
from paddock.session.model import Event, Request

_LEAST_GAP_S = 1.5


class SeriesView(Protocol):
    """What is read of `session.Series`."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def span(self) -> tuple[float, float] | None: ...

    def view(self, name: str, t0: float = ..., t1: float = ..., points: int | None = ...) -> tuple[Any, Any]: ...


class Columns:
    """Whole columns (a stored session's, a test's) read like a Series. `t` is sorted; columns are as long as `t`."""

    def __init__(self, t: NDArray[Any] | None = None, columns: Mapping[str, NDArray[Any]] | None = None) -> None:
        self._t: Floats = np.empty(0) if t is None else np.asarray(t, np.float64)
        self._columns = {name: np.asarray(y, np.float64) for name, y in (columns or {}).items()
                         if len(y) == len(self._t)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def span(self) -> tuple[float, float] | None:
        return (float(self._t[0]), float(self._t[-1])) if len(self._t) else None

    def view(self, name: str, t0: float = -math.inf, t1: float = math.inf,
             points: int | None = None) -> tuple[Floats, Floats]:
        part = visible(self._t, t0, t1)
        column = self._columns.get(name)
        if column is None:
            return self._t[part], np.full(part.stop - part.start, math.nan)
        return (self._t[part], column[part]) if points is None else thin(self._t, column, part, points * 2)


@dataclass(frozen=True)
class Setup:
    """What holds for a whole session. Bytes by device name ("Host" for RAM); None = not known."""

    devices: tuple[str, ...] = ()
    slots: int = 1
    context_limit: float | None = None
    predicted_bytes: Mapping[str, float] = field(default_factory=dict)
    usual_per_s: float | None = None
    """The generation speed that this profile usually reaches."""
    answers_texts: bool = False
    """It embeds or ranks texts and generates nothing: texts a second take the place of generation."""


@dataclass(frozen=True)
class Frame:
    """One moment's view. Times are seconds since the session started.

    Columns are those of `session.sample_columns`: generation_per_s, slot.N.context_used, CUDA0.used_bytes, …
    """

    series: SeriesView = field(default_factory=Columns)
    requests: Sequence[Request] = ()
    events: Sequence[Event] = ()
    now: float = 0.0
    """The end of the time axis."""
    _gaps: dict[tuple[float, float, int], list[tuple[float, float]]] = field(default_factory=dict, init=False,
                                                                             repr=False, compare=False)

    _names: list[frozenset[str]] = field(default_factory=list, init=False, repr=False, compare=False)

    def has(self, name: str) -> bool:
        if not self._names:  # the columns that this moment has, asked for once
            self._names.append(frozenset(self.series.names))
        return name in self._names[0]

    def cut(self, name: str, start: float, end: float, points: int) -> tuple[Floats, Floats]:
        """Times and values to draw; both empty where the column was not recorded."""
        if not self.has(name):
            return np.empty(0), np.empty(0)
        t, y = self.series.view(name, start, end, points)
        return t, y

    def at(self, name: str, moment: float) -> float:
        """The value at a moment; NaN in a gap or where nothing was recorded."""
        if not self.has(name):
            return math.nan
        t, y = self.series.view(name, moment - 3.0, moment + 3.0)
        return value_at(t, y, moment)

    def gaps(self, start: float, end: float, points: int) -> list[tuple[float, float]]:
        """(from, to) seconds in which the server gave no answer, 1.5 s and longer."""
        known = self._gaps.get((start, end, points))  # several plots of one picture ask for the same
        if known is not None:
            return known
        t, answered = self.cut("requests_processing", start, end, points)
        found = [(float(t[max(a - 1, 0)]), float(t[min(b + 1, len(t) - 1)])) for a, b in runs(np.isnan(answered))]
        self._gaps.clear()
        self._gaps[start, end, points] = long = [gap for gap in found if gap[1] - gap[0] >= _LEAST_GAP_S]
        return long
