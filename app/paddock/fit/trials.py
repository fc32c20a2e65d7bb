"""llama.cpp's own dry runs of one model with other layers on other devices, as its --fit makes them.

The rules are those of common/fit.cpp, b11434 (memory-model 4): what a dry run counts, and in which order layers and
experts are tried. Sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from paddock.fit import estimator
from paddock.fit.estimator import ContextRows
from paddock.fit.levers import Levers
from paddock.fit.model import Budget
from paddock.fit.overheads import driver_term, projector_terms
from paddock.fit.overrides import EXPERTS, Override
from paddock.fit.placement import HOST, available
from paddock.gguf.model import ModelFile
from paddock.units import MIB

OVERFLOW = {
    "experts": EXPERTS,
    "ffn": r"\.ffn_(gate|up|gate_up|down).*",
    "gate+down": r"\.ffn_(gate|gate_up|down).*",
    "down": r"\.ffn_down.*",
}
"""What of a layer stays off its device → the expression that --fit writes for it."""


@dataclass(frozen=True)
class Slice:
    """One device's layers: `layers` in all, of them the last `partial` without their experts.

    `overflow` says what the first of the partial ones leaves out, and `to` where that goes (a device index or HOST).
    """

    layers: int = 0
    partial: int = 0
    overflow: str = "experts"
    to: int = HOST

    @property
    def full(self) -> int:
        return self.layers - self.partial


Slices = tuple[Slice, ...]


class Trials:
    """Dry runs of one plan. Raises RefusedError where llama.cpp would not start, ValueError for unusable metadata."""

    def __init__(self, model: ModelFile, levers: Levers, budgets: Sequence[Budget], draft: ModelFile | None,
                 projector: ModelFile | None) -> None:
        self.model, self.levers, self.draft = model, levers, draft
        self._available = available(budgets)
        self.first = estimator.main_rows(model, levers, self._available)
        self.devices = self.first.placement.devices
        shape = self.first.shape
        self.layers = shape.layers + (shape.nextn if "draft-mtp" in levers.spec_types else 0)
        """Layers as --fit counts them, without the output layer."""
        self.streams = 1 if levers.unified else levers.slots
        self._extra: dict[int, list[int]] = {}
        self.free = [self._free(budgets[d.row]) for d in self.devices]
        targets = levers.fit_target_mib or (1024,)
        self.margins = [targets[min(d.row, len(targets) - 1)] * MIB for d in self.devices]
        place, terms = projector_terms(projector, levers, self.first)
        if place != HOST:
            self.margins[place] += sum(t.bytes for t in terms)

    @staticmethod
    def _free(budget: Budget) -> int | None:
        """What the server itself will find free: its own driver context is open by then."""
        if budget.free_bytes is None:
            return None
        driver = driver_term(budget.kind.lower())
        return budget.free_bytes - (driver.bytes if driver else 0)

    def rows(self, levers: Levers) -> ContextRows:
        return estimator.main_rows(self.model, levers, self._available)

    def used(self, rows: ContextRows, levers: Levers) -> list[int]:
        """Bytes per device of a dry run, Host last, the second context's included."""
        extra = self._second(rows, levers)
        return [rows.model.get(d, 0) + rows.context.get(d, 0) + rows.compute.by_device.get(d, 0) + more
                for d, more in zip([*range(len(self.devices)), HOST], extra, strict=True)]

    def _second(self, rows: ContextRows, levers: Levers) -> list[int]:
        """A draft's or MTP context's bytes: measured once per context size, never moved by --fit."""
        size = rows.sizes.context
        if size not in self._extra:
            self._extra[size] = self._measured(rows, levers)
        return self._extra[size]

    def _measured(self, rows: ContextRows, levers: Levers) -> list[int]:
        found = None
        if levers.draft_model is not None and self.draft is not None:
            found = estimator.draft_rows(self.draft, levers, self._available, rows)
        elif levers.mtp:
            found = estimator.mtp_rows(self.model, levers, rows)
        if found is None:
            return [0] * (len(self.devices) + 1)
        names = {d.row: i for i, d in enumerate(self.devices)}
        out = [0] * (len(self.devices) + 1)
        for i in (*range(len(found.placement.devices)), HOST):
            there = -1 if i == HOST else names.get(found.placement.devices[i].row)
            if there is not None:
                weights = 0 if levers.mtp else found.model.get(i, 0)
                out[there] += weights + found.context.get(i, 0) + found.compute.by_device.get(i, 0)
        return out

    def sliced(self, levers: Levers, slices: Slices) -> Levers:
        """These levers with -ngl, -ts and overrides of a division of the layers."""
        count = sum(s.layers for s in slices)
        layer, overrides = self.layers + 1 - count, []
        for s in slices:
            layer += s.full
            for i in range(s.partial):
                first = i == 0
                body = OVERFLOW[s.overflow if first else "experts"]
                to = s.to if first else HOST
                overrides.append(Override(rf"blk\.{layer + i}{body}",
                                          "CPU" if to == HOST else self.devices[to].name))
            layer += s.partial
        split = tuple(float(s.layers) for s in slices) if len(slices) > 1 else levers.tensor_split
        return replace(levers, gpu_layers=count, tensor_split=split, overrides=tuple(overrides))


class Division:
    """--fit's search for the division of the layers: dense parts from the last device on, experts from the first."""

    def __init__(self, trials: Trials, levers: Levers) -> None:
        self.trials, self.levers = trials, levers
        self.count = len(trials.devices)
        self.targets = [(free or 0) - margin for free, margin in zip(trials.free, trials.margins, strict=True)]
        self.experts = trials.first.shape.experts > 0
        self.slices: Slices = (Slice(),) * self.count
        self._known: dict[Slices, list[int]] = {}

    def used(self, slices: Slices) -> list[int]:
        if slices not in self._known:
            levers = self.trials.sliced(self.levers, slices)
            self._known[slices] = self.trials.used(self.trials.rows(levers), levers)
        return self._known[slices]

    def over(self) -> str | None:
        """The device that gets more than it has free, for --fit may end with more than it set out to use: what one
        device takes in the second pass is not taken off the others when it starts on whole layers with experts."""
        used = self.used(self.slices)
        return next((d.name for d, use, free in zip(self.trials.devices, used, self.trials.free, strict=False)
                     if use > (free or 0)), None)

    def found(self) -> Slices:
        """The division, when everything has been tried."""
        spare = self._spare_without_experts() if self.experts else 0
        for device in reversed(range(self.count)):
            self._fill(device)
        if self.experts and spare > 0:
            self._convert()
        return self.slices

    def _spare_without_experts(self) -> int:
        """Bytes left over all devices when no expert is on one: below zero not even the dense weights fit."""
        levers = replace(self.levers, overrides=(Override(r"blk\.\d+" + EXPERTS, "CPU"),))
        used = self.trials.used(self.trials.rows(levers), levers)
        return sum(self.targets) - sum(used[:-1])

    def _fill(self, device: int) -> None:
        """As many layers as fit here, of those that later devices do not hold; a MoE's without experts."""
        most = self.trials.layers + 1 - sum(s.layers for s in self.slices[device + 1:])

        def with_layers(n: int) -> Slices:
            partial = 0 if not self.experts else (n if device < self.count - 1 else max(0, n - 1))
            return _put(self.slices, device, Slice(n, partial))

        n = most_within(0, most, lambda n: self.used(with_layers(n))[device], self.targets[device])
        self.slices = with_layers(n)

    def _convert(self) -> None:
        """Give layers their experts, from the first device on, and one more layer a part of them."""
        start = next(i for i, s in enumerate(self.slices) if s.layers)
        for device in range(self.count):
            if device > start:
                break
            before, begin = self.slices, start
            most = sum(s.partial for s in before[begin:])

            def moved(n: int, device: int = device, before: Slices = before, begin: int = begin) -> tuple[Slices, int]:
                return _converted(before, device, begin, n)

            def use(n: int, device: int = device, moved: Callable[[int], tuple[Slices, int]] = moved) -> int:
                return self.used(moved(n)[0])[device]

            n = most_within(0, most, use, self.targets[device])
            self.slices, start = moved(n)
            start = self._one_more(device, start)

    def _one_more(self, device: int, start: int) -> int:
        """One extra layer of which only a part lies here, the rest on the next device (the last: on the CPU)."""
        last = device == self.count - 1
        giver = self.slices[start]
        if giver.layers <= (1 if last else 0):
            return start
        # The last device may have nothing but the output layer, and gives even that.
        left = giver.partial - 1 if device == start else max(0, giver.partial - 1)
        changed = _put(self.slices, start, replace(giver, layers=giver.layers - 1, partial=left))
        taker = changed[device]
        changed = _put(changed, device, replace(taker, layers=taker.layers + 1, partial=taker.partial + 1,
                                                to=HOST if last else device + 1))
        after = start + 1 if giver.partial == 1 and start + 1 < self.count else start
        took = False
        for part in ("gate+down", "down") if self._fits(changed, device, "gate+down") else ("ffn",):
            if self._fits(changed, device, part):
                self.slices, took = _put(changed, device, replace(changed[device], overflow=part)), True
        return after if took else start

    def _fits(self, slices: Slices, device: int, part: str) -> bool:
        used = self.used(_put(slices, device, replace(slices[device], overflow=part)))
        return all(used[d] < self.targets[d] for d in (device, device + 1) if d < self.count)


def _put(slices: Slices, device: int, new: Slice) -> Slices:
    return (*slices[:device], new, *slices[device + 1:])


def _converted(slices: Slices, device: int, start: int, count: int) -> tuple[Slices, int]:
    """`count` partial layers from `start` on become full ones of `device`; and the first that has some left."""
    left = count
    for giver in range(start, len(slices)):
        n = min(left, slices[giver].partial)
        given = slices[giver]
        slices = _put(slices, giver, replace(given, layers=given.layers - n, partial=given.partial - n))
        slices = _put(slices, device, replace(slices[device], layers=slices[device].layers + n))
        left -= n
        if slices[giver].partial:
            return slices, giver
    return slices, len(slices) - 1


def most_within(low: int, high: int, use: Callable[[int], int], limit: int) -> int:
    """The largest n in low…high whose use stays within the limit, where use grows with n; `low` is not questioned.

    By false position: use is nearly a straight line, so three or four trials are enough for any number of layers.
    """
    if high <= low or use(high) <= limit:
        return max(low, high)
    at_low, at_high = use(low), use(high)
    while high - low > 1:
        slope = at_high - at_low
        step = (high - low) * (limit - at_low) // slope if slope > 0 else high - low - 1
        n = low + min(max(step, 1), high - low - 1)
        found = use(n)
        if found <= limit:
            low, at_low = n, found
        else:
            high, at_high = n, found
    return low
