"""Curves with more samples than pixels, painted column by column of device pixels instead of as paths and polygons.

Stroking a path of two thousand steep edges takes several times as long as filling the pixels that it covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from paddock.desktop.plots.scale import Floats

Mask = NDArray[np.bool_]
Pixels = NDArray[np.int16]
"""Small numbers: comparing them is most of the work."""

_BRIDGED = 2
"""Columns that the last sample before a hole covers beside its own."""
_BEYOND = 64
"""Columns out of sight from which an edge may run into sight."""
_BESIDE = 4
_WORTH_A_RECTANGLE = 4
_OUT = 4.0
"""Rows out of sight in which a line that leaves it runs on."""


class Columns:
    """The columns on which samples lie. `x`: device pixels, rising, fractions allowed; `width` of them are in sight."""

    def __init__(self, x: Floats, width: int) -> None:
        self._first, self._last = (int(n) for n in np.searchsorted(x, (-_BEYOND, width + _BEYOND)))
        own = np.floor(x[self._first:self._last]).astype(np.int64)
        starts = np.flatnonzero(np.diff(own, prepend=own[0] - 1)) if len(own) else np.empty(0, np.int64)
        ends = np.append(starts[1:], len(own))
        own = own[starts]
        self.left = int(own[0]) if len(own) else 0
        self.count = int(own[-1]) - self.left + 1 if len(own) else 0
        """Columns from the first to the last, `left` being the first one's number."""
        self._own = own - self.left
        self._dense = self.count == len(own)
        # A few samples in each are compared side by side, in a third of the time that `reduceat` takes; the newest ones
        # are not thinned yet, so the last column may have many.
        sizes = ends - starts
        self._many = [(int(n), slice(int(starts[n]), int(ends[n]))) for n in np.flatnonzero(sizes > _BESIDE)]
        most = min(int(sizes.max()), _BESIDE) if len(own) else 0
        self._beside = np.minimum(starts + np.arange(most)[:, None], ends - 1)

    def extremes(self, curves: Sequence[Floats]) -> Floats:
        """[lowest and highest, curve, column], for curves as long as `x`. NaN is a hole.

        Between two samples the edge runs straight: they can lie further apart than columns, where a slow computer
        answers late or a zoom shows few of them.
        """
        part = np.stack([y[self._first:self._last] for y in curves])
        beside = part.take(self._beside, axis=1)
        found = np.empty((2, len(part), len(self._own)), part.dtype)
        for rows, reduce in zip(found, (np.fmin, np.fmax), strict=True):
            reduce.reduce(beside, axis=1, out=rows)
            for column, samples in self._many:
                rows[:, column] = reduce.reduce(part[:, samples], axis=1)
        known = found[0] == found[0]
        if self._dense and known.all():
            return found
        return np.stack([[self._every(row, there) for row, there in zip(rows, known, strict=True)] for rows in found])

    def _every(self, values: Floats, known: Mask) -> Floats:
        own, found = self._own, values
        if not self._dense:
            found = np.interp(np.arange(self.count), own, values).astype(values.dtype)
            found[own] = values
        if not known.all():
            ends = own[known & ~np.append(known[1:], False)]
            for step in range(1, _BRIDGED + 1):
                there = ends[ends + step < self.count]
                there = there[np.isnan(found[there + step])]
                found[there + step] = found[there + step - 1]
        return found


class Covered(NamedTuple):
    """The device rows of one curve in each column, from above; a hole covers none."""

    known: Mask | None
    """Where it is no hole; None: everywhere."""
    highest: Pixels
    """The row of the highest value; anything in a hole."""
    top: Pixels
    """The line itself: its first row, so that columns beside each other touch."""
    bottom: Pixels
    """The row behind its last one."""


def covered(extremes: Floats, upper: float, scale: float, height: float, thick: int) -> list[Covered]:
    """For each curve of `extremes` (see `Columns`): `upper` is the value at row 0, `scale` rows are a value of one,
    `height` rows are in sight; a line is `thick` rows high."""
    rows = np.floor((upper - extremes) * scale)
    known = rows[0] == rows[0]
    whole = bool(known.all())
    if not whole:
        rows[:, ~known] = 0
    # What is out of sight lies just there.
    np.maximum(rows, -_OUT, out=rows)
    np.minimum(rows, math.ceil(height) + _OUT, out=rows)
    lowest, highest = rows.astype(np.int16)
    behind = lowest + (np.int16(thick) if whole else known * np.int16(thick))
    top, bottom = highest.copy(), behind.copy()
    joined = True if whole else known[:, 1:] & known[:, :-1]
    np.minimum(highest[:, 1:], behind[:, :-1], out=top[:, 1:], where=joined)
    np.maximum(behind[:, 1:], highest[:, :-1], out=bottom[:, 1:], where=joined)
    return [Covered(None if whole else known[n], highest[n], top[n], bottom[n]) for n in range(len(top))]


def between(low: Covered, high: Covered) -> tuple[Pixels, Pixels]:
    """(first row, row behind the last one) of the band in each column, none in a hole.

    From the highest `low` of a column to its highest `high`: bands that are stacked then touch.
    """
    if low.known is None and high.known is None:
        return high.highest, low.highest
    known = np.ones(len(high.highest), np.bool_)
    for curve in (low, high):
        if curve.known is not None:
            known &= curve.known
    return np.where(known, high.highest, 0), np.where(known, low.highest, 0)


def paint_rows(painter: QPainter, ratio: float, left: int, top: Pixels, bottom: Pixels, colour: QColor) -> None:
    """Fill rows `top` to `bottom` (that one not) of each column from `left` on. Device pixels; the painter's are
    `ratio` of them."""
    above, below = int(top.min()), int(bottom.max())
    inner, outer = int(top.max()), int(bottom.min())
    if above >= below:
        return
    # Most of a wide band is one rectangle.
    if outer - inner > _WORTH_A_RECTANGLE:
        painter.fillRect(QRectF(left / ratio, inner / ratio, len(top) / ratio, (outer - inner) / ratio), colour)
    else:
        inner = outer = below
    word = premultiplied(colour.rgba())
    for first, last in ((above, inner), (outer, below)):
        if last > first:
            rows = np.arange(first, last, dtype=np.int16)[:, None]
            picture = ((rows >= top) & (rows < bottom)) * word
            image = QImage(picture.data, picture.shape[1], picture.shape[0], picture.shape[1] * 4,
                           QImage.Format.Format_ARGB32_Premultiplied)
            image.setDevicePixelRatio(ratio)
            painter.drawImage(QPointF(left / ratio, first / ratio), image)


@lru_cache(maxsize=16)
def dashed(left: int, count: int, dashes: tuple[float, ...], ratio: float) -> Mask:
    """Which columns a dashed line covers: `dashes` are lengths on and off in turn, pixels."""
    edges = np.cumsum(np.asarray(dashes) * ratio)
    place = np.searchsorted(edges, np.arange(left, left + count) % edges[-1], side="right")
    covered: Mask = place % 2 == 0
    return covered


@lru_cache(maxsize=64)
def premultiplied(argb: int) -> np.uint32:
    """A colour's word in a picture; `argb` as QColor gives it."""
    alpha, *parts = argb.to_bytes(4, "big")
    red, green, blue = (round(part * alpha / 255) for part in parts)
    return np.uint32(alpha << 24 | red << 16 | green << 8 | blue)
