"""Divide a model's layers over devices of known room, so that as many weight bytes as can be lie on them.

Plain arithmetic on bytes per layer: which layers, where the borders are, and whose experts stay in RAM.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, combinations, combinations_with_replacement, product


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
    _sizes: list[tuple[int, ...]] = field(init=False)
    _kinds: list[tuple[tuple[int, ...], list[int]]] = field(init=False)

    def __post_init__(self) -> None:
        self._lean = [0, *accumulate(one.lean for one in self.layers)]
        self._cache = [0, *accumulate(one.cache for one in self.layers)]
        self._experts = [0, *accumulate(one.expert_bytes for one in self.layers)]
        self._sizes = [tuple(size for _, size in one.experts) for one in self.layers]
        self._kinds = [(kind, [0, *accumulate(int(own == kind) for own in self._sizes)])
                       for kind in sorted({own for own in self._sizes if own})]

    def solved(self, start: int | None = None, borders: tuple[int, ...] | None = None, later: int = 0) -> Divided:
        """The best division; `start` and `borders` may be given. `later`: so many more layers are left out at the
        front."""
        if start is None:
            start = min(self.least_start() + later, len(self.layers))
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
        every = self._experts[b] - self._experts[a]
        off = min(every, self._least_off(a, b, lean + cache + every - room))
        kept = lean + every - off
        return kept, -(kept + cache) / room

    def _least_off(self, a: int, b: int, over: int) -> int:
        """The fewest bytes of experts that may stay in RAM of layers a…b-1, so that at least `over` do; with many
        devices, thus many borders to try, as if tensors could be cut."""
        if over <= 0 or len(self.rooms) > _EXACT:
            return max(0, over)
        found = _chosen(over, tuple((kind, before[b] - before[a]) for kind, before in self._kinds
                                    if before[b] > before[a]))
        return over if found is None else found.bytes

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
        """Layers here whose experts all stay in RAM, the first ones of each kind, and single tensors of up to two
        more."""
        over = sum(p[b] - p[a] for p in (self._lean, self._cache, self._experts)) - self.rooms[device]
        if over <= 0:
            return [], []
        kinds: dict[tuple[int, ...], list[int]] = {}
        for i in range(a, b):
            if self._sizes[i]:
                kinds.setdefault(self._sizes[i], []).append(i)
        found = _chosen(over, tuple(sorted((k, len(v)) for k, v in kinds.items())))
        if found is None:
            return [i for i in range(a, b) if self._sizes[i]], []
        return self._named(found, kinds)

    def _named(self, found: _Off, kinds: dict[tuple[int, ...], list[int]]) -> tuple[list[int], list[str]]:
        off: list[int] = []
        rest = {kind: list(layers) for kind, layers in kinds.items()}
        for kind, count in found.whole:
            off += rest[kind][:count]
            rest[kind] = rest[kind][count:]
        names = []
        for kind, places in found.parts:
            layer = rest[kind].pop(0)
            names += [self.layers[layer].experts[place][0] for place in places]
        return sorted(off), names


@dataclass(frozen=True)
class _Off:
    """What stays in RAM: so many layers of each kind (expert sizes) whole, and tensors (places) of single layers."""

    bytes: int
    whole: tuple[tuple[tuple[int, ...], int], ...]
    parts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()


_Kinds = tuple[tuple[tuple[int, ...], int], ...]
"""(expert sizes of a layer, how many layers have them)."""
_MOST_KINDS = 3
_EXACT = 2


def _chosen(over: int, kinds: _Kinds) -> _Off | None:
    """The fewest bytes that are at least `over`: whole layers, and some tensors of at most two more; None when all
    together are too few. Fewer divided layers where that is as good."""
    if sum(sum(kind) * count for kind, count in kinds) < over:
        return None
    if len(kinds) > _MOST_KINDS:
        return _greedy(over, kinds)
    best: _Off | None = None
    for whole in _counts(over, kinds):
        done = sum(sum(kind) * count for kind, count in whole)
        left = tuple((kind, min(2, count - n)) for (kind, count), (_, n) in zip(kinds, whole, strict=True))
        if done >= over:
            best = _better(best, _Off(done, whole))
            continue
        partial = _partial(left)
        at = bisect_left(partial, over - done, key=lambda found: found[0])
        if at < len(partial):
            best = _better(best, _Off(done + partial[at][0], whole, partial[at][1]))
    return best


def _better(best: _Off | None, new: _Off) -> _Off:
    if best is None or (new.bytes, len(new.parts)) < (best.bytes, len(best.parts)):
        return new
    return best


def _counts(over: int, kinds: _Kinds) -> Iterator[_Kinds]:
    """So many whole layers of each kind that no more than two divided ones are missing, or that they are enough."""
    *others, (last, most) = kinds
    reach = 2 * max(sum(kind) for kind, _ in kinds)
    for some in product(*(range(count + 1) for _, count in others)):
        done = sum(sum(kind) * n for (kind, _), n in zip(others, some, strict=True))
        if done - over > reach:
            continue
        low = max(0, -(-(over - done - reach) // sum(last)))
        high = min(most, max(0, -(-(over - done) // sum(last))))
        for n in range(low, high + 1):
            yield (*zip((kind for kind, _ in others), some, strict=True), (last, n))


@lru_cache(maxsize=256)
def _partial(left: _Kinds) -> tuple[tuple[int, tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]], ...]:
    """(bytes, tensors by layer) of one or two divided layers, the fewest bytes first; `left`: layers that are free.

    One and two of a kind are all that counts, so callers share what was found.
    """
    single = [(sum(kind[i] for i in places), kind, places) for kind, count in left if count
              for n in range(1, len(kind)) for places in combinations(range(len(kind)), n)]
    counts = dict(left)
    found: dict[int, tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]] = {}
    for size, kind, places in single:
        found.setdefault(size, ((kind, places),))
    for (size, kind, places), (more, other, there) in combinations_with_replacement(single, 2):
        if kind != other or counts[kind] > 1:
            found.setdefault(size + more, ((kind, places), (other, there)))
    return tuple(sorted(found.items()))


def _greedy(over: int, kinds: _Kinds) -> _Off:
    """Where every layer is of another size: the largest that are still needed, then the smallest that is enough."""
    whole: dict[tuple[int, ...], int] = {}
    done = 0
    every = sorted(((sum(kind), kind) for kind, count in kinds for _ in range(count)), reverse=True)
    for size, kind in every:
        if done + size <= over:
            whole[kind] = whole.get(kind, 0) + 1
            done += size
    if done < over:
        counts = dict(kinds)
        size, kind = min((s, k) for s, k in every if whole.get(k, 0) < counts[k] and done + s >= over)
        whole[kind] = whole.get(kind, 0) + 1
        done += size
    return _Off(done, tuple(whole.items()))
