"""How much context fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddock.fit.judging import ORDER
from paddock.fit.model import Budget, Estimate, Verdict
from paddock.fit.verdicts import estimate
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan

STEP = 1024
LARGEST = 1 << 21


def largest_context(plan: Plan, judge: Callable[[Plan], Estimate], most: int, wanted: Verdict) -> int | None:
    """The largest -c up to `most`, in steps of 1,024, with at least this verdict; None when the smallest has not."""
    enough = ORDER[ORDER.index(wanted):]

    def good(steps: int) -> bool:
        found = judge(plan.with_("ctx-size", steps * STEP))
        return found.rejected is None and bool(found.devices) and found.verdict in enough

    low, high = 0, max(0, most // STEP)
    while low < high:
        middle = (low + high + 1) // 2
        if good(middle):
            low = middle
        else:
            high = middle - 1
    return low * STEP or None


def max_context(model: ModelFile, plan: Plan, budgets: Sequence[Budget], *, most: int | None = None,
                **given: Any) -> tuple[int | None, int | None]:
    """(fits up to, tight up to) in tokens, for the strip under the context slider; None where not even 1,024 do.

    `most`: where to stop looking; by default what the model was trained with.
    """
    limit = min(most or model.facts.trained_context or LARGEST, LARGEST)

    def judge(changed: Plan) -> Estimate:
        return estimate(model, changed, budgets, **given)

    fits = largest_context(plan, judge, limit, Verdict.FITS)
    return fits, largest_context(plan, judge, limit, Verdict.TIGHT)
