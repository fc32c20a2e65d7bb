"""What to change when it does not fit: candidates, each judged by the estimate itself, the best three kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from paddock.fit.autoplacement import auto_place
from paddock.fit.bandwidth import Bandwidth
from paddock.fit.ceiling import ceiling
from paddock.fit.contexts import largest_context
from paddock.fit.judging import device_name
from paddock.fit.model import Budget, DeviceEstimate, Estimate, Fix, Verdict
from paddock.fit.verdicts import estimate
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.units import count_text, gib_text, percent_text

_RANK = {Verdict.FITS: 0, Verdict.TIGHT: 1, Verdict.CANT_TELL: 2, Verdict.WONT_FIT: 3}
LEAST_CHANGE = 0.005
_NOT_PLACED = ("ctx-size", "cache-type-k", "cache-type-v", "ubatch-size")
"""What a placement as a fix leaves as it is."""


def fixes(model: ModelFile, plan: Plan, budgets: Sequence[Budget], before: Estimate, *,
          speeds: Mapping[str, Bandwidth | None] | None = None, **given: Any) -> tuple[Fix, ...]:
    """Up to three changes that help, best first: what fits comes before what is only tight, small losses before large.

    `given`: draft, projector, host_total, host_free as for `estimate`. `speeds`: see `ceiling.bandwidths`; with them
    the effect says how the speed ceiling changes. Empty when it fits or cannot be told.
    """
    if before.verdict not in (Verdict.WONT_FIT, Verdict.TIGHT) or not before.devices:
        return ()
    worst = _worst(before)

    def judge(changed: Plan) -> Estimate:
        return estimate(model, changed, budgets, **given)

    found = []
    for order, (id_, sets, changed, cost) in enumerate(_candidates(model, plan, budgets, before, worst, judge, given)):
        after = judge(changed)
        there = after.device(worst.name)
        if after.rejected or there is None:
            continue
        freed = worst.total - there.total
        if freed <= 0 or _RANK[after.verdict] > _RANK[before.verdict]:
            continue
        speed = speed_change(model, plan, changed, budgets, speeds, _depth(before, after)) if speeds else None
        effect = _effect(worst, freed, cost, speed)
        found.append((_RANK[after.verdict], order,
                      Fix(id_, sets, effect, changed, freed, worst.name, speed, after.verdict)))
    found.sort(key=lambda f: f[:2])
    return tuple(fix for _, _, fix in found[:3])


def _depth(before: Estimate, after: Estimate) -> int:
    """Tokens that both plans can hold: only so are their speeds alike."""
    return min(before.context_per_slot or 0, after.context_per_slot or 0)


def speed_change(model: ModelFile, plan: Plan, changed: Plan, budgets: Sequence[Budget],
                 speeds: Mapping[str, Bandwidth | None], depth: int) -> float | None:
    """By which fraction the speed ceiling at this depth changes (−0.02: 2 % slower); None where it is not known."""
    old, new = (ceiling(model, p, budgets, speeds, depth) for p in (plan, changed))
    if old is None or new is None or not old.bound or not new.bound:
        return None
    return new.bound / old.bound - 1


def _effect(worst: DeviceEstimate, freed: int, cost: Text | None, speed: float | None) -> Text:
    """What it frees where, what it costs, and the tokens/s; "slower" stands for them where they are not known."""
    given: dict[str, Any] = {"device": device_name(worst), "freed": gib_text(freed)}
    if speed is None:
        return Text("{device} −{freed} GiB, {cost}", cost=cost or Text("slower"), **given)
    if abs(speed) < LEAST_CHANGE:
        return Text("{device} −{freed} GiB, {cost}", cost=cost or Text("as fast"), **given)
    change = percent_text(speed, signed=True)
    if cost is None:
        return Text("{device} −{freed} GiB, {change} t/s", change=change, **given)
    return Text("{device} −{freed} GiB, {cost}, {change} t/s", cost=cost, change=change, **given)


def _worst(before: Estimate) -> DeviceEstimate:
    return max(before.devices, key=lambda d: (_RANK[d.verdict], -(d.left if d.left is not None else 0)))


_Candidate = tuple[str, Text, Plan, Text | None]
"""Id, what it sets, the plan, what it costs besides speed."""


def _candidates(model: ModelFile, plan: Plan, budgets: Sequence[Budget], before: Estimate, worst: DeviceEstimate,
                judge: Callable[[Plan], Estimate], given: dict[str, Any]) -> Iterator[_Candidate]:
    """In the order in which they hurt least."""
    context = before.context_length or 0
    if plan.get("cache-type-k") is None and plan.get("cache-type-v") is None and worst.context:
        changed = plan.with_("cache-type-k", "q8_0").with_("cache-type-v", "q8_0")
        yield "kv-q8", Text("KV type q8_0"), changed, Text("less exact")
    if worst.name == "Host" and any(t.high > t.bytes for t in worst.terms if t.id == "overhead"):
        yield ("cache-ram", Text("Prompt cache 0"), plan.with_("cache-ram", 0).with_("ctx-checkpoints", 0),
               Text("prompts are processed again"))
    if worst.context:
        fits = (largest_context(plan, judge, context, Verdict.FITS)
                or largest_context(plan, judge, context, Verdict.TIGHT))
        if fits and fits < context:
            yield ("context", Text("Context {tokens}", tokens=count_text(fits)), plan.with_("ctx-size", fits),
                   Text("shorter context"))
    if worst.name != "Host" and before.layers_offloaded:
        yield from _placements(model, plan, budgets, before, judge, given)


def _placements(model: ModelFile, plan: Plan, budgets: Sequence[Budget], before: Estimate,
                judge: Callable[[Plan], Estimate], given: dict[str, Any]) -> Iterator[_Candidate]:
    """All placed anew where there is a choice (experts, several devices); else fewer weights on the GPUs, experts
    first, then whole layers; the least that helps, by bisection."""
    layers = model.facts.layers or 0
    used = sum(1 for d in before.devices if d.name != "Host" and d.total)
    if model.facts.experts or used > 1:
        placed = auto_place(model, plan, budgets, pinned=_NOT_PLACED, **given)
        if placed.estimate.verdict is not Verdict.WONT_FIT and placed.plan != plan:
            yield "placement", _placed_text(placed.estimate), placed.plan, None
    if model.facts.experts and plan.find("override-tensor") is None and plan.find("cpu-moe") is None:
        least = _least(layers, lambda n: _helps(judge(plan.with_("n-cpu-moe", n)), before))
        if least:
            yield ("n-cpu-moe", Text("Experts of {count} layers in RAM", count=least),
                   plan.with_("n-cpu-moe", least), None)
    on = before.layers_offloaded[0] if before.layers_offloaded else 0
    fewer = _least(on, lambda n: _helps(judge(plan.with_("gpu-layers", on - n)), before))
    if fewer:
        yield ("gpu-layers", Text("{count} layers on the GPU", count=on - fewer), plan.with_("gpu-layers", on - fewer),
               None)


def _placed_text(found: Estimate) -> Text:
    """With the part of the weights that lies there."""
    weights = sum(d.model for d in found.devices)
    here = sum(d.model for d in found.devices if d.name != "Host")
    return Text("Best placement, {percent} on the GPU", percent=percent_text(here / max(1, weights)))


def _helps(after: Estimate, before: Estimate) -> bool:
    return after.rejected is None and _RANK[after.verdict] < _RANK[before.verdict] and all(
        d.verdict is not Verdict.WONT_FIT for d in after.devices)


def _least(most: int, good: Callable[[int], bool]) -> int | None:
    """The least n in 1…most that is good, when more is never worse; None when none is."""
    if most < 1 or not good(most):
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if good(middle):
            high = middle
        else:
            low = middle + 1
    return low
