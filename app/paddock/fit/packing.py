"""Layers and their movable weights packed into devices: pure arithmetic on bytes, for the automatic placement.

A layer lies whole on a device (-ngl, -ts) but for movable tensors (experts, or the parts of a dense feed-forward), which
an override may leave on the CPU. Devices hold consecutive layers, in their order, those of the CPU before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from paddock.fit.estimator import known
from paddock.fit.levers import DENSE, EXPERTS, Levers
from paddock.fit.memory import Sizes, parts
from paddock.fit.placement import Device
from paddock.fit.quants import padded
from paddock.fit.weights import TensorIndex
from paddock.gguf.model import ModelFile

_HALVINGS = 24


@dataclass(frozen=True)
class Packing:
    """`shares`: layers per device, the output counted, from layer `first` on. `left_out`: tensors on the CPU.

    `loads`: weights and caches by device, bytes. `weights`: bytes of weights on all devices.
    """

    first: int
    shares: tuple[int, ...]
    left_out: frozenset[int]
    loads: tuple[int, ...]
    weights: int


@dataclass
class Freight:
    """What there is to pack: per layer (the output last) all bytes with its cache, weights alone, movable tensors."""

    index: TensorIndex
    layers_all: int
    full: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    movable: list[list[tuple[int, int]]] = field(default_factory=list)
    """(tensor, bytes), by layer."""
    experts: bool = False

    @classmethod
    def of(cls, model: ModelFile, levers: Levers, device: Device) -> Freight:
        """The model's layers in buffers of that kind of device. ValueError where its metadata is not enough."""
        facts = known(model)
        shape, index = facts.shape, facts.index("draft-mtp" in levers.spec_types)
        sums, sizes = index.sums(device.align, device.pads_rows), index.sizes(device.align, device.pads_rows)
        made = cls(index, shape.layers_all)
        made.weights = [sums.get(i, 0) for i in range(shape.layers_all + 1)]
        if index.tied is not None:
            made.weights[-1] += sizes[index.tied]
        made.full = list(made.weights)
        cells = Sizes.of(shape, levers)
        if cells.kv_offload:
            for part in parts(shape, cells):
                made.full[part.layer] += padded(part.nbytes, device.align)
        experts = index.matches(EXPERTS)
        made.experts = bool(experts)
        made.movable = [[] for _ in range(shape.layers_all + 1)]
        for i in sorted(experts or index.matches(DENSE)):
            if 0 <= index.homes[i] < shape.layers_all:
                made.movable[index.homes[i]].append((i, sizes[i]))
        return made

    def pack(self, first: int, room: Sequence[int], *, whole: bool = False,
             shares: Sequence[int] | None = None) -> Packing | None:
        """Layers from `first` on in devices with that much room; None where they do not go in. `whole`: nothing may be
        left on the CPU. `shares`: given by someone else."""
        found = tuple(shares) if shares is not None else self.divide(first, room)
        if found is None:
            return None
        out: set[int] = set()
        loads, at = [], first
        for share, space in zip(found, room, strict=True):
            load = sum(self.full[at:at + share])
            if load > space and not whole:
                load -= self._leave_out(range(at, at + share), load - space, out)
            if share and load > space:
                return None
            loads.append(load)
            at += share
        left = sum(size for layer in self.movable for i, size in layer if i in out)
        return Packing(first, found, frozenset(out), tuple(loads), sum(self.weights[first:]) - left)

    def _leave_out(self, layers: range, over: int, out: set[int]) -> int:
        """Movable tensors of whole layers from the front until `over` is freed; what need not go comes back."""
        freed = 0
        for layer in layers:
            if freed >= over:
                break
            for i, size in self.movable[layer]:
                out.add(i)
                freed += size
            if freed >= over:
                for i, size in sorted(self.movable[layer], key=lambda t: -t[1]):
                    if freed - size >= over:
                        out.discard(i)
                        freed -= size
        return freed

    def divide(self, first: int, room: Sequence[int]) -> tuple[int, ...] | None:
        """Shares with which the fullest device is as little full as can be, in proportion to its room (C057)."""
        loads = self.full[first:]
        if not loads:
            return tuple(0 for _ in room)
        if not any(space > 0 for space in room):
            return None
        low, high = 0.0, (sum(loads) + 1) / min(space for space in room if space > 0)
        best = self._filled(loads, room, high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            found = self._filled(loads, room, middle)
            if found is None:
                low = middle
            else:
                best, high = found, middle
        return best

    @staticmethod
    def _filled(loads: Sequence[int], room: Sequence[int], ratio: float) -> tuple[int, ...] | None:
        shares, at = [], 0
        for space in room:
            limit, used, start = max(0, space) * ratio, 0, at
            while at < len(loads) and used + loads[at] <= limit:
                used += loads[at]
                at += 1
            shares.append(at - start)
        return tuple(shares) if at == len(loads) else None

    def first_whole(self, room: Sequence[int]) -> int:
        """The least number of layers on the CPU with which the others go in whole."""
        return self._least(room, whole=True)

    def first_movable(self, room: Sequence[int]) -> int:
        """The same where movable tensors may all stay on the CPU."""
        return self._least(room, whole=False)

    def _least(self, room: Sequence[int], *, whole: bool) -> int:
        low, high = 0, self.layers_all + 1
        while low < high:
            middle = (low + high) // 2
            if self.pack(middle, room, whole=whole) is not None:
                high = middle
            else:
                low = middle + 1
        return low
