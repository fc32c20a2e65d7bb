"""What else could be asked of this plan: how much context fits, what a smaller KV type saves, which fixes there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paddock import fit
from paddock.fit.ceiling import bandwidths
from paddock.fit.model import Budget, Estimate, Fix, Verdict
from paddock.launch.model import Plan, Setting
from paddock.text import Text
from paddock.units import bytes_text
from paddock.work.foretelling import ram_speed

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


@dataclass(frozen=True)
class Change:
    """One option, variable, prefix or engine that differs; None = not set there.

    kind: "option", "variable", "prefix" or "engine". The value of all but an option stands in its setting's `values`.
    """

    option: str
    before: Setting | None
    after: Setting | None
    kind: str = "option"


def changes(saved: Plan, plan: Plan) -> list[Change]:
    """What differs between two plans: options in the plan's order, then those that were taken out, then the rest."""
    names = list(dict.fromkeys([s.option for s in plan.settings] + [s.option for s in saved.settings]))
    found = []
    for name in names:
        before = [s for s in saved.settings if s.option == name]
        after = [s for s in plan.settings if s.option == name]
        if before != after:
            found.append(Change(name, before[-1] if before else None, after[-1] if after else None))
    return found + _other_changes(saved, plan)


def _other_changes(saved: Plan, plan: Plan) -> list[Change]:
    """Variables, prefix and engine."""
    def value(name: str, *values: str | None) -> Setting | None:
        known = tuple(value for value in values if value is not None)
        return Setting(name, known) if known else None

    names = dict.fromkeys([name for name, _ in plan.environment] + [name for name, _ in saved.environment])
    found = [Change(name, value(name, saved.variable(name)), value(name, plan.variable(name)), "variable")
             for name in names if saved.variable(name) != plan.variable(name)]
    if saved.prefix != plan.prefix:
        found.append(Change("prefix", value("prefix", *saved.prefix), value("prefix", *plan.prefix), "prefix"))
    if saved.engine != plan.engine:
        found.append(Change("engine", value("engine", saved.engine), value("engine", plan.engine), "engine"))
    return found


def undone(plan: Plan, change: Change) -> Plan:
    """The plan with this one change taken back."""
    values = change.before.values if change.before is not None else ()
    if change.kind == "variable":
        rest = tuple(pair for pair in plan.environment if pair[0] != change.option)
        return replace(plan, environment=(*rest, *((change.option, value) for value in values)))
    if change.kind == "prefix":
        return replace(plan, prefix=values)
    if change.kind == "engine":
        return replace(plan, engine=next(iter(values), None))
    if change.before is None:
        return plan.without(change.option)
    return plan.with_(change.option, *change.before.values, on=change.before.on)


def kv_bytes(estimate: Estimate) -> int:
    """KV over all devices."""
    return sum(d.context for d in estimate.devices)


def what_if(workspace: Workspace, preview: Preview, cancelled: Callable[[], bool]) -> WhatIf:
    """Some dozen estimates in a row, each about a millisecond; stops early when cancelled. Off the GUI thread."""
    plan, before, model, machine = preview.plan, preview.estimate, preview.model, preview.machine
    if before is None or model is None or before.verdict is Verdict.CANT_TELL:
        return WhatIf(plan)
    budgets = tuple(Budget(d.name, d.kind, d.total_bytes, d.free_bytes, d.integrated, d.description)
                    for d in machine.devices)
    given: dict[str, Any] = {"draft": preview.draft, "projector": preview.projector,
                             "host_total": machine.ram_total_bytes, "host_free": machine.ram_available_bytes}
    speeds = bandwidths(budgets, ram_speed(workspace.paths, measure=False))
    found = WhatIf(plan, fit.fixes(model, plan, budgets, before, speeds=speeds, **given))
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
    return (Fix("context-larger", Text("Context {tokens}", tokens=found.fits_up_to),
                Text("+{size}, still fits", size=bytes_text(more)),
                preview.plan.with_("ctx-size", found.fits_up_to)),)
