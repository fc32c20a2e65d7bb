"""Auto placement: which layers and experts go where, so that the plan fits and the GPUs hold as much as they can.

Our own, and instant: the division is arithmetic on bytes per layer (`dividing`), judged by the estimate, and divided
again with the compute buffers that the estimate found, until it settles.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.fit import estimator
from paddock.fit.contexts import largest_context
from paddock.fit.corrections import uncorrected
from paddock.fit.dividing import Divided, Division, Layer
from paddock.fit.levers import Levers
from paddock.fit.memory import parts
from paddock.fit.model import Budget, Estimate, Verdict
from paddock.fit.overrides import EXPERTS
from paddock.fit.placement import HOST, Device, RefusedError, available
from paddock.fit.quants import padded
from paddock.fit.verdicts import estimate
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.units import MIB, bytes_text, count_text

PLACING = ("gpu-layers", "tensor-split", "n-cpu-moe", "cpu-moe", "override-tensor", "n-cpu-ffn")
_EXPERTS = ("n-cpu-moe", "cpu-moe", "override-tensor", "n-cpu-ffn")
_EXPERT = re.compile(EXPERTS)
ROUNDS = 6
NEARLY = 32 * MIB
"""Compute differs by less with what lies elsewhere, so a division that lacks no more is tried too."""
USUAL_CONTEXT = 8192
"""Where the search begins when no context is asked for and the trained one does not fit."""
_RANK = {Verdict.FITS: 3, Verdict.TIGHT: 2, Verdict.CANT_TELL: 1, Verdict.WONT_FIT: 0}


@dataclass(frozen=True)
class Placed:
    """The plan, its estimate, and why it is so."""

    plan: Plan
    estimate: Estimate
    why: Text

    @property
    def gpu_weights(self) -> int:
        """Weight bytes on devices other than the host."""
        return gpu_weights(self.estimate)


def gpu_weights(found: Estimate) -> int:
    return sum(d.model for d in found.devices if d.name != "Host")


def auto_place(model: ModelFile, plan: Plan, budgets: Sequence[Budget], *, pinned: Collection[str] = (),
               **given: Any) -> Placed:
    """-ngl, -ts, -ncmoe or -ot for these devices; KV types, batch and context only when nothing fits without.

    pinned: option ids that stay as they are in the plan ("ctx-size", "cache-type-k", …). A context that is not asked
    for at all is chosen: the longest that costs no weight bytes on the GPUs. given: as for `estimate`. Never raises for
    a readable model; where nothing fits, the best found, with its verdict.
    """
    search = _Search(model, budgets, frozenset(pinned), given)
    base = plan.without(*(o for o in PLACING if o not in search.pinned))
    best: Placed | None = None
    for candidate, how in _loosened(model, base, search.pinned):
        found = search.placed(candidate)
        if best is None or _better(found, best.estimate):
            best = Placed(found[0], found[1], Text("{how}{placed}", how=how, placed=_why(found[1])))
        if best.estimate.verdict is Verdict.FITS:
            break
    assert best is not None
    if plan.find("ctx-size") is None and "ctx-size" not in search.pinned:
        return _with_context(model, search, best)
    return best


def _better(found: tuple[Plan, Estimate], than: Estimate) -> bool:
    return (_RANK[found[1].verdict], gpu_weights(found[1])) > (_RANK[than.verdict], gpu_weights(than))


def _loosened(model: ModelFile, plan: Plan, pinned: Collection[str]) -> Iterator[tuple[Plan, Text]]:
    """The plan, then with less and less, in the order in which it hurts least."""
    nothing = Text("")
    context = plan.integer("ctx-size") or 0
    if plan.find("ctx-size") is None and "ctx-size" not in pinned:
        trained = model.facts.trained_context or USUAL_CONTEXT
        context = min(USUAL_CONTEXT, trained)
        plan = plan.with_("ctx-size", context)
    yield plan, nothing
    if not {"cache-type-k", "cache-type-v"} & set(pinned) and plan.get("cache-type-k", "f16") in ("f16", "bf16", "f32"):
        plan = plan.with_("cache-type-k", "q8_0").with_("cache-type-v", "q8_0")
        yield plan, Text("With KV type q8_0. ")
    if "ubatch-size" not in pinned and (plan.integer("ubatch-size") or 512) > 128:
        plan = plan.with_("ubatch-size", 128)
        yield plan, Text("With micro-batches of 128. ")
    while "ctx-size" not in pinned and context >= 4096:
        context //= 2
        plan = plan.with_("ctx-size", context)
        yield plan, Text("With a context of {tokens} tokens. ", tokens=count_text(context))


def _with_context(model: ModelFile, search: _Search, best: Placed) -> Placed:
    """The same placement with the longest context that still fits."""
    limit = model.facts.trained_context or 0
    if best.estimate.verdict is not Verdict.FITS or limit <= (best.estimate.context_length or 0):
        return best
    most = largest_context(best.plan, search.judged, limit, Verdict.FITS)
    if not most or most <= (best.plan.integer("ctx-size") or 0):
        return best
    changed = best.plan.with_("ctx-size", most)
    return Placed(changed, search.judged(changed),
                  Text("{before} A context of {tokens} tokens costs none of that.", before=best.why,
                       tokens=count_text(most)))


class _Search:
    def __init__(self, model: ModelFile, budgets: Sequence[Budget], pinned: frozenset[str],
                 given: dict[str, Any]) -> None:
        self.model, self.budgets, self.given = model, budgets, given
        self.pinned = frozenset(o.removeprefix("--") for o in pinned)

    def judged(self, plan: Plan) -> Estimate:
        return estimate(self.model, plan, self.budgets, **self.given)

    def placed(self, plan: Plan) -> tuple[Plan, Estimate]:
        """The best placement for this plan's context and types."""
        first = self.judged(plan)
        best = plan, first
        if first.rejected is not None or not first.devices or _all_on(first):
            return best
        if Levers.of(plan).split_mode == "tensor":
            return best  # there layers do not lie on devices
        try:
            problem = _Problem(self, plan, Levers.of(plan))
        except RefusedError:
            return best
        if not problem.devices or any(d.free is None for d in problem.devices):
            return best
        for later in problem.later:
            for found in self._rounds(problem, first, later):
                if found[1].rejected is None and found[1].devices and _better(found, best[1]):
                    best = found
        return best

    def _rounds(self, problem: _Problem, first: Estimate, later: int) -> Iterator[tuple[Plan, Estimate]]:
        """Divided, judged, and divided again with what was found, until it settles."""
        seen: set[Plan] = set()
        problem.reserves.clear()
        last = first
        for _ in range(ROUNDS):
            changed = problem.plan(problem.rooms(last), later)
            if changed in seen:
                changed = problem.plan(problem.rooms(last, smaller=True), later)
                if changed in seen:
                    break
            seen.add(changed)
            last = self.judged(changed)
            yield changed, last
            if not last.devices:
                return
        changed = problem.plan([room + NEARLY for room in problem.rooms(last)], later)
        if changed not in seen:
            yield changed, self.judged(changed)


def _all_on(found: Estimate) -> bool:
    on = found.layers_offloaded
    overridden = on is not None and on[0] < on[1]
    return found.verdict is Verdict.FITS and not overridden


class _Problem:
    """One plan's layers in bytes and its devices' rooms."""

    def __init__(self, search: _Search, plan: Plan, levers: Levers) -> None:
        self.search, self.base = search, plan
        rows = estimator.main_rows(search.model, levers, available(search.budgets))
        self.rows, self.devices = rows, rows.placement.devices
        pinned = search.pinned
        self.fixed_experts = any(o in pinned and plan.find(o) is not None for o in _EXPERTS)
        self.start = None
        if "gpu-layers" in pinned and plan.find("gpu-layers") is not None:
            self.start = max(0, rows.shape.layers_all + 1 - rows.placement.offloaded)
        self.borders: tuple[int, ...] | None = None
        if "tensor-split" in pinned and plan.find("tensor-split") is not None and len(self.devices) > 1:
            where = rows.placement.layer_device
            self.start = next((i for i, d in enumerate(where) if d != HOST), len(where))
            ends, at = [], self.start
            for device in range(len(self.devices)):
                at += sum(d == device for d in where)
                ends.append(at)
            self.borders = tuple(ends)
        self.reserves: dict[int, int] = {}
        nextn = rows.shape.nextn if rows.shape.experts and self.start is None and not self.fixed_experts else 0
        self.later = (0, nextn) if nextn else (0,)
        """Layers that are left out at the front besides: llama.cpp's own --fit leaves out as many as there are MTP
        layers, which may leave room for more bytes of experts."""
        self.layers = self._layers(self.devices[0]) if self.devices else []

    def _layers(self, device: Device) -> list[Layer]:
        rows, index = self.rows, self.rows.weights.index
        sizes = index.sizes(device.align, device.pads_rows)
        cache = [0] * (rows.shape.layers_all + 1)
        if rows.sizes.kv_offload:
            for part in parts(rows.shape, rows.sizes):
                cache[part.layer] += padded(part.nbytes, device.align)
        found = []
        for home in range(rows.shape.layers_all + 1):
            lean, experts = 0, []
            for i in index.by_block.get(home, ()):
                if rows.weights.moved.get(i) == HOST:
                    continue
                if not self.fixed_experts and _EXPERT.search(index.names[i]):
                    experts.append((index.names[i], sizes[i]))
                else:
                    lean += sizes[i]
            if home == rows.shape.layers_all and index.tied is not None:
                lean += sizes[index.tied]
            found.append(Layer(lean, cache[home], tuple(experts)))
        return found

    def rooms(self, last: Estimate, smaller: bool = False) -> list[int]:
        """Bytes for weights and caches on each device, after what the last estimate needed for all else there.

        `smaller`: the division turns in circles, so the largest need that was seen counts.
        """
        found = []
        for i, device in enumerate(self.devices):
            reserve = self._reserve(last, device.row)
            self.reserves[i] = max(reserve, self.reserves.get(i, 0))
            found.append((device.free or 0) - (self.reserves[i] if smaller else reserve))
        return found

    @staticmethod
    def _reserve(last: Estimate, index: int) -> int:
        """The layers are divided by uncorrected bytes, so a correction of weights and caches counts among the rest."""
        row, before = last.devices[index], uncorrected(last).devices[index]
        held = before.model + before.context
        return max(row.total - held + row.margin, row.high - held, row.margin + 8 * MIB)

    def plan(self, rooms: Sequence[int], later: int = 0) -> Plan:
        found = Division(self.layers, rooms).solved(self.start, self.borders, later)
        return self._written(found)

    def _written(self, found: Divided) -> Plan:
        plan, pinned = self.base, self.search.pinned
        if "gpu-layers" not in pinned:
            plan = plan.with_("gpu-layers", len(self.layers) - found.start)
        if len(self.devices) > 1 and "tensor-split" not in pinned and any(found.counts):
            plan = plan.with_("tensor-split", ",".join(str(n) for n in found.counts))
        patterns = []
        first = [i for i, one in enumerate(self.layers) if one.experts and found.start <= i][:len(found.off)]
        if found.off and len(self.devices) == 1 and list(found.off) == first and "n-cpu-moe" not in pinned:
            plan = plan.with_("n-cpu-moe", found.off[-1] + 1)
        elif found.off:
            patterns.append(rf"blk\.({'|'.join(str(i) for i in found.off)}){EXPERTS}=CPU")
        if found.parts:
            patterns += [f"{re.escape(name)}=CPU" for name in found.parts]
        return plan.with_("override-tensor", ",".join(patterns)) if patterns else plan


def _why(found: Estimate) -> Text:
    """What the placement came to, in a sentence."""
    weights = sum(d.model for d in found.devices)
    here = gpu_weights(found)
    if found.verdict is Verdict.WONT_FIT:
        return Text("Nothing that may be changed makes it fit. {reason}", reason=found.reason)
    on = found.layers_offloaded or (0, 0)
    if on[0] < on[1]:
        return Text("{on} of {of} layers fit on the GPU: {bytes} of {all} of weights.", on=on[0], of=on[1],
                    bytes=bytes_text(here), all=bytes_text(weights))
    if here < 0.9 * weights:
        return Text("All layers are on the GPU, with as many experts as fit: {bytes} of {all} of weights.",
                    bytes=bytes_text(here), all=bytes_text(weights))
    return Text("All layers are on the GPU: {bytes} of {all} of weights.", bytes=bytes_text(here),
                all=bytes_text(weights))
