"""What differs between two plans."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paddock.launch.model import Plan, Setting


@dataclass(frozen=True)
class Change:
    """One option, variable, prefix or engine that differs; None = not set there.

    kind: "option", "variable", "prefix" or "engine". The value of all but an option stands in its setting's `values`.
    An option that is given several times stands in `all_before` and `all_after` with every time; before and after are
    the last.
    """

    option: str
    before: Setting | None
    after: Setting | None
    kind: str = "option"
    all_before: tuple[Setting, ...] = ()
    all_after: tuple[Setting, ...] = ()


def changes(saved: Plan, plan: Plan) -> list[Change]:
    """What differs between two plans: options in the plan's order, then those that were taken out, then the rest."""
    found = []
    for name in dict.fromkeys([s.option for s in plan.settings] + [s.option for s in saved.settings]):
        before, after = saved.all(name), plan.all(name)
        if before != after:
            found.append(Change(name, before[-1] if before else None, after[-1] if after else None, "option", before,
                                after))
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
    return _with_all(plan, change)


def _with_all(plan: Plan, change: Change) -> Plan:
    """The option as often as it stood there before, where it stands now."""
    before = change.all_before or ((change.before,) if change.before is not None else ())
    at = next((i for i, s in enumerate(plan.settings) if s.option == change.option), len(plan.settings))
    rest = plan.without(change.option).settings
    return replace(plan, settings=(*rest[:at], *before, *rest[at:]))
