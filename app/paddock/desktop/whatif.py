"""What else could be asked of this plan: how much context fits, what a smaller KV type saves, which fixes there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock import fit
from paddock.fit.model import Estimate, Fix, Verdict
from paddock.launch.model import Plan, Setting

if TYPE_CHECKING:
    from paddock.work import Preview, Workspace

STEP = 1024
_BAD = (Verdict.WONT_FIT, Verdict.CANT_TELL)


@dataclass(frozen=True)
class WhatIf:
    """Figures beside the preview, for the plan they were asked for. None = not known.

    fits_up_to, tight_up_to: contexts in tokens, within the trained length. kv_saving: bytes that q8_0 would save.
    """

    plan: Plan | None = None
    fixes: tuple[Fix, ...] = ()
    fits_up_to: int | None = None
    tight_up_to: int | None = None
    kv_saving: int | None = None


@dataclass(frozen=True)
class Change:
    """One option that differs; None = not set there."""

    option: str
    before: Setting | None
    after: Setting | None


def changes(saved: Plan, plan: Plan) -> list[Change]:
    """Options that differ between two plans, in the order of the plan, then those that were taken out."""
    names = list(dict.fromkeys([s.option for s in plan.settings] + [s.option for s in saved.settings]))
    found = []
    for name in names:
        before = [s for s in saved.settings if s.option == name]
        after = [s for s in plan.settings if s.option == name]
        if before != after:
            found.append(Change(name, before[-1] if before else None, after[-1] if after else None))
    return found


def undone(plan: Plan, change: Change) -> Plan:
    """The plan with this one change taken back."""
    if change.before is None:
        return plan.without(change.option)
    return plan.with_(change.option, *change.before.values, on=change.before.on)


def kv_bytes(estimate: Estimate) -> int:
    """KV over all devices."""
    return sum(d.context for d in estimate.devices)


def what_if(workspace: Workspace, preview: Preview, cancelled: Callable[[], bool]) -> WhatIf:
    """Some dozen estimates in a row (each about a millisecond); stops early when cancelled."""
    plan, estimate, model = preview.plan, preview.estimate, preview.model
    if estimate is None or model is None:
        return WhatIf(plan)

    def ask(changed: Plan) -> Estimate | None:
        return workspace.preview(changed, engine=preview.engine, machine=preview.machine).estimate

    fixes = _fixes(preview)
    if cancelled():
        return WhatIf(plan, fixes)
    saving = None
    if plan.get("cache-type-k", "f16") in ("f16", "bf16", "f32"):
        smaller = ask(plan.with_("cache-type-k", "q8_0").with_("cache-type-v", "q8_0"))
        saving = kv_bytes(estimate) - kv_bytes(smaller) if smaller is not None and smaller.rejected is None else None
    most = model.facts.trained_context or 0
    fits_up_to = _largest(lambda n: _verdict(ask, plan, n) is Verdict.FITS, most, cancelled)
    tight_up_to = _largest(lambda n: _verdict(ask, plan, n) not in _BAD, most, cancelled)
    return WhatIf(plan, fixes, fits_up_to, tight_up_to, saving)


def _verdict(ask: Callable[[Plan], Estimate | None], plan: Plan, context: int) -> Verdict:
    found = ask(plan.with_("ctx-size", context))
    return Verdict.CANT_TELL if found is None else found.verdict


def _largest(good: Callable[[int], bool], most: int, cancelled: Callable[[], bool]) -> int | None:
    """The largest multiple of STEP up to `most` for which it is good; 0: none is; None: cancelled or unknown."""
    if most < STEP or cancelled():
        return None
    if good(most):
        return most
    low, high = 0, most // STEP
    while high - low > 1:
        if cancelled():
            return None
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle * STEP) else (low, middle)
    return low * STEP


def _fixes(preview: Preview) -> tuple[Fix, ...]:
    ask = getattr(fit, "fixes", None)
    if ask is None or preview.estimate is None or preview.model is None:
        return ()
    budgets = tuple(d.budget for d in preview.estimate.devices if d.budget is not None)
    return tuple(ask(preview.model, preview.plan, budgets, preview.estimate))
