"""What else could be asked of this plan: how much context fits, what a smaller KV type saves, which fixes there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from paddock import fit
from paddock.fit.ceiling import bandwidths
from paddock.fit.model import Estimate, Fix, Verdict
from paddock.launch.comparing import Change as Change
from paddock.launch.comparing import changes as changes
from paddock.launch.comparing import undone as undone
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.units import bytes_text, count_text
from paddock.work.foretelling import ram_speed
from paddock.work.others import Others, holders_of, others_of, untold_of
from paddock.work.previewing import as_read, budgets_of, given_of

if TYPE_CHECKING:
    from paddock.work import Preview, Workspace

_WIDE = ("f16", "bf16", "f32")


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
    others: Others = field(default_factory=Others)
    """Who holds device memory, and what closing each would buy."""


def kv_bytes(estimate: Estimate) -> int:
    """KV over all devices."""
    return sum(d.context for d in estimate.devices)


def what_if(workspace: Workspace, preview: Preview, cancelled: Callable[[], bool]) -> WhatIf:
    """Some dozen estimates in a row, each about a millisecond; stops early when cancelled. Off the GUI thread."""
    plan, before, model, machine = preview.plan, preview.estimate, preview.model, preview.machine
    if before is None or model is None or before.verdict is Verdict.CANT_TELL:
        return WhatIf(plan, others=Others(holders_of(machine), (), untold_of(machine)))
    plan = as_read(plan, preview.engine)
    budgets = budgets_of(machine)
    given = given_of(workspace, preview)
    speeds = bandwidths(budgets, ram_speed(workspace.paths, measure=False))
    found = WhatIf(preview.plan, fit.fixes(model, plan, budgets, before, speeds=speeds, **given))
    if cancelled():
        return found
    found = replace(found, others=others_of(machine, model, plan, budgets, before, given))
    if cancelled():
        return found
    if plan.get("cache-type-k", "f16") in _WIDE and plan.get("cache-type-v", "f16") in _WIDE:
        changed = plan.with_("cache-type-k", "q8_0").with_("cache-type-v", "q8_0")
        smaller = fit.estimate(model, changed, budgets, **given)
        if smaller.rejected is None and smaller.devices:
            found = replace(found, kv_saving=kv_bytes(before) - kv_bytes(smaller))
    if cancelled():
        return found
    fits, tight = fit.max_context(model, plan, budgets, **given)
    found = replace(found, fits_up_to=fits or 0, tight_up_to=tight or 0)
    ram_speed(workspace.paths, measure=True)  # once on a machine; the next preview says what it allows
    return replace(found, fixes=found.fixes or ideas(preview, found))


def ideas(preview: Preview, found: WhatIf) -> tuple[Fix, ...]:
    """What could be had besides, where it fits: a larger context."""
    before = preview.estimate
    if before is None or before.verdict is not Verdict.FITS or not found.fits_up_to or not before.context_length:
        return ()
    if found.fits_up_to < before.context_length * 1.25 or not before.kv_bytes_per_token:
        return ()
    more = (found.fits_up_to - before.context_length) * before.kv_bytes_per_token
    return (Fix("context-larger", Text("Context {tokens}", tokens=count_text(found.fits_up_to)),
                Text("+{size}, still fits", size=bytes_text(more)),
                preview.plan.with_("ctx-size", found.fits_up_to)),)
