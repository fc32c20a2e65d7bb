"""Divide a model's layers over devices of known room, so that as many weight bytes as can be lie on them.

Plain arithmetic on bytes per layer: which layers, where the borders are, and whose experts stay in RAM.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, combinations


@dataclass(frozen=True)
class Layer:
    """Bytes of one layer: what always goes with it, its cache, and its expert tensors (name, bytes)."""

    lean: int
    cache: int
    experts: tuple[tuple[str, int], ...] = ()

    @property
    def expert_bytes(self) -> int:
        return sum(size for _, size in self.experts)


@dataclass(frozen=True)
class Divided:
    """`start`: the first layer on a device; `borders`: where each device's layers end; what of the experts stays off.

    `off`: layers whose experts all stay in RAM; `parts`: single expert tensors that stay in RAM.
    """

    start: int
    borders: tuple[int, ...]
    off: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(b - a for a, b in zip((self.start, *self.borders), self.borders, strict=False))


@dataclass
class Division:
    """One problem: the layers, the output layer last, and the room of every device in bytes."""

    layers: Sequence[Layer]
    rooms: Sequence[int]
    _lean: list[int] = field(init=False)
    _cache: list[int] = field(init=False)
    _experts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._lean = [0, *accumulate(one.lean for one in self.layers)]
        self._cache = [0, *accumulate(one.cache for one in self.layers)]
        self._experts = [0, *accumulate(one.expert_bytes for one in self.layers)]

    def solved(self, start: int | None = None, borders: tuple[int, ...] | None = None) -> Divided:
        """The best division; `start` and `borders` may be given."""
        if start is None:
            start = self.least_start()
        ends = borders if borders is not None else self._borders(start)
        off: list[int] = []
        parts: list[str] = []
        for device, (a, b) in enumerate(zip((start, *ends), ends, strict=False)):
            kept_off, kept_parts = self._relieved(device, a, b)
            off += kept_off
            parts += kept_parts
        return Divided(start, ends, tuple(off), tuple(parts))

    def least_start(self) -> int:
        """The first layer from which on all fits without experts; layers are taken off from the front."""
        return next((s for s in range(len(self.layers)) if self._reaches(s)), len(self.layers))

    def _reaches(self, start: int) -> bool:
        at = start
        for room in self.rooms:
            base = self._lean[at] + self._cache[at]
            while at < len(self.layers) and self._lean[at + 1] + self._cache[at + 1] - base <= room:
                at += 1
        return at == len(self.layers)

    def _value(self, device: int, a: int, b: int) -> tuple[int, float] | None:
        """(weight bytes kept here, minus the part of the room in use) of layers a…b-1; None when they do not fit."""
        if a == b:
            return 0, 0.0
        lean, cache = self._lean[b] - self._lean[a], self._cache[b] - self._cache[a]
        room = self.rooms[device]
        if lean + cache > room:
            return None
        last, back = self._last_off(device, a, b)
        off = self._experts[last] - self._experts[a] - sum(size for _, size in back)
        kept = lean + self._experts[b] - self._experts[a] - off
        return kept, -(kept + cache) / room

    def _last_off(self, device: int, a: int, b: int) -> tuple[int, tuple[tuple[int, int], ...]]:
        """Experts of the layers a…end-1 stay in RAM, of a…b-1; and which of the last one's (place, bytes) need not."""
        over = sum(p[b] - p[a] for p in (self._lean, self._cache, self._experts)) - self.rooms[device]
        if over <= 0:
            return a, ()
        end = bisect_left(self._experts, self._experts[a] + over, a, b + 1)
        end = min(end, b)
        spare = self._experts[end] - self._experts[a] - over
        return end, _largest(self.layers[end - 1].experts, spare)

    def _borders(self, start: int) -> tuple[int, ...]:
        """Most bytes kept first, then the emptiest fullest device, by dynamic programming over the borders."""
        end, count = len(self.layers), len(self.rooms)
        best: dict[int, tuple[tuple[int, float], tuple[int, ...]]] = {start: ((0, 0.0), ())}
        for device in range(count):
            following: dict[int, tuple[tuple[int, float], tuple[int, ...]]] = {}
            for a, (score, path) in best.items():
                for b in (end,) if device == count - 1 else range(a, end + 1):
                    value = self._value(device, a, b)
                    if value is None:
                        break
                    new = score[0] + value[0], min(score[1], value[1])
                    if b not in following or new > following[b][0]:
                        following[b] = new, (*path, b)
            best = following
        if end in best:
            return best[end][1]
        share = [round(start + (end - start) * (i + 1) / count) for i in range(count)]
        return tuple(share)

    def _relieved(self, device: int, a: int, b: int) -> tuple[list[int], list[str]]:
        """Layers here whose experts all stay in RAM, and single tensors of one more: from the front, or from the back
        where that keeps more bytes (tensors of several types)."""
        over = sum(p[b] - p[a] for p in (self._lean, self._cache, self._experts)) - self.rooms[device]
        if over <= 0:
            return [], []
        layers = [i for i in range(a, b) if self.layers[i].experts]
        _, off, parts = min((self._freed(order, over) for order in (layers, layers[::-1])), key=lambda f: f[0])
        return sorted(off), parts

    def _freed(self, order: Sequence[int], over: int) -> tuple[int, list[int], list[str]]:
        """(bytes that stay in RAM, whole layers, single tensors) when layers give up their experts in this order."""
        off: list[int] = []
        freed = 0
        for i in order:
            if freed >= over:
                break
            off.append(i)
            freed += self.layers[i].expert_bytes
        best, back, chosen = 0, tuple[tuple[int, int], ...](), -1
        for i in reversed(off):
            some = _largest(self.layers[i].experts, freed - over)
            if sum(size for _, size in some) > best:
                best, back, chosen = sum(size for _, size in some), some, i
        places = {place for place, _ in back}
        parts = [n for k, (n, _) in enumerate(self.layers[chosen].experts) if k not in places] if back else []
        return freed - best, [i for i in off if i != chosen], parts


def _largest(tensors: Sequence[tuple[str, int]], room: int) -> tuple[tuple[int, int], ...]:
    """The (place, bytes) of one layer's tensors that together fill most of the room, but not all of them."""
    best, found = 0, tuple[tuple[int, int], ...]()
    if not tensors or room < min(size for _, size in tensors):
        return found
    sizes = [(i, size) for i, (_, size) in enumerate(tensors)]
    for count in range(1, len(tensors)):
        for some in combinations(sizes, count):
            size = sum(s for _, s in some)
            if best < size <= room:
                best, found = size, some
    return found
