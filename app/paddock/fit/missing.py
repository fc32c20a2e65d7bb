"""How much memory is missing for a model to lie on the GPUs whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paddock.fit.model import Budget, Estimate
from paddock.fit.verdicts import estimate
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.units import bytes_text

_PLACING = ("gpu-layers", "tensor-split", "override-tensor", "cpu-moe", "n-cpu-moe", "n-cpu-ffn")


@dataclass(frozen=True)
class Missing:
    """`bytes`: what the devices together are short of, their margins kept; 0 = all would fit, None = not known."""

    bytes: int | None
    text: Text | None = None


def missing_for_all_layers(model: ModelFile, plan: Plan, budgets: Sequence[Budget], before: Estimate | None = None,
                           **given: Any) -> Missing:
    """What is missing for all layers and experts on the GPUs with this plan's context, whatever it places elsewhere.

    `before`: the plan's own estimate where it was made already. `given`: draft, projector, host_total, host_free as for
    `estimate`. Several devices are taken together, as a fitting -ts would. No text where nothing is to be said:
    there is no GPU, or all layers are there and fit.
    """
    before = before or estimate(model, plan, budgets, **given)
    if before.rejected is not None or before.layers_offloaded is None or plan.get("device") == "none":
        return Missing(None)
    placing = [option for option in _PLACING if plan.find(option) is not None]
    whole = estimate(model, plan.without(*placing), budgets, **given) if placing else before
    used = [d for d in whole.devices if d.name != "Host" and d.total]
    free = [d.budget.free_bytes if d.budget is not None else None for d in used]
    known = [f for f in free if f is not None]
    if whole.rejected is not None or not used or len(known) < len(used):
        return Missing(None)
    short = sum(max(d.high, d.total + d.margin) for d in used) - sum(known)
    if short > 0:
        return Missing(short, Text("{size} are missing for all layers on the GPU.",
                                   plural="{size} are missing for all layers on the GPUs.", count=len(used),
                                   size=bytes_text(short)))
    if placing and _weights(before) < _weights(whole):
        return Missing(0, Text("All layers would fit on the GPU.", plural="All layers would fit on the GPUs.",
                               count=len(used)))
    return Missing(0)


def _weights(found: Estimate) -> int:
    return sum(d.model for d in found.devices if d.name != "Host")
