"""Defaults below a plan: for all models, for one architecture, then the plan itself.

A layer is a plan that holds nothing but what it sets. The nearest layer that sets an option decides about it, with all
its repetitions; variables are told apart by their names, and prefix and engine are each one thing. A plan can leave out
what the layers set. Keys: an option's id, a variable's name, "prefix", "engine".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from paddock.launch.model import Plan
from paddock.text import Text

PREFIX, ENGINE = "prefix", "engine"
NO_DEFAULTS = ("model", "hf-repo", "hf-file", "model-url", "docker-repo", "models-dir", "models-preset")
"""What says which model it is: never a default."""


@dataclass(frozen=True)
class Layer:
    """Defaults for all models, or for those of one architecture (as the file names it: "qwen3moe")."""

    plan: Plan
    architecture: str | None = None

    @property
    def title(self) -> Text:
        """Where a value comes from, in words."""
        if self.architecture is None:
            return Text("defaults for all models")
        return Text("defaults for {architecture}", architecture=self.architecture)


def keys(plan: Plan) -> tuple[str, ...]:
    """Everything that the plan sets, each once, in its order."""
    found = dict.fromkeys([s.option for s in plan.settings] + [name for name, _ in plan.environment])
    return (*found, *((PREFIX,) if plan.prefix else ()), *((ENGINE,) if plan.engine is not None else ()))


def value(plan: Plan, key: str) -> object:
    """What the plan sets under this key, to be compared; None where it sets nothing."""
    if key == PREFIX:
        return plan.prefix or None
    if key == ENGINE:
        return plan.engine
    settings = plan.all(key)
    return settings or tuple(v for name, v in plan.environment if name == key) or None


def part(plan: Plan, wanted: Collection[str]) -> Plan:
    """What the plan sets under these keys, and nothing else (what was not understood of a pasted line stays)."""
    return replace(plan, settings=tuple(s for s in plan.settings if s.option in wanted),
                   environment=tuple(pair for pair in plan.environment if pair[0] in wanted),
                   prefix=plan.prefix if PREFIX in wanted else (), engine=plan.engine if ENGINE in wanted else None)


def joined(plan: Plan, below: Plan) -> Plan:
    """The plan, and behind it what the other sets besides."""
    own = set(keys(plan))
    more = part(below, [key for key in keys(below) if key not in own])
    return replace(plan, settings=plan.settings + more.settings, environment=plan.environment + more.environment,
                   prefix=plan.prefix or more.prefix, engine=plan.engine if plan.engine is not None else more.engine)


def defaults(layers: Sequence[Layer]) -> Plan:
    """All layers as one plan; the last layer is the nearest."""
    out = Plan()
    for layer in reversed(layers):
        out = joined(out, replace(part(layer.plan, set(keys(layer.plan)) - set(NO_DEFAULTS)), extra=()))
    return out


def layered(layers: Sequence[Layer], plan: Plan, left_out: Collection[str] = ()) -> Plan:
    """The plan with everything that it takes from the layers."""
    below = defaults(layers)
    return joined(plan, part(below, [key for key in keys(below) if key not in left_out]))


def origins(layers: Sequence[Layer], plan: Plan, own: Plan | None = None) -> Mapping[str, Layer]:
    """Key -> the layer that its value comes from, for all that a finished plan takes from the layers.

    `own`: what is set in a profile itself, which is never taken from a layer, though the value may be the same.
    """
    out: dict[str, Layer] = {}
    below, kept = defaults(layers), set(keys(own)) if own is not None else set()
    for key in keys(plan):
        if key in kept or value(plan, key) != value(below, key):
            continue
        nearest = next((layer for layer in reversed(layers) if value(layer.plan, key) is not None), None)
        if nearest is not None:
            out[key] = nearest
    return out


def own_part(layers: Sequence[Layer], plan: Plan, own: Plan | None = None) -> tuple[Plan, tuple[str, ...]]:
    """A finished plan, taken apart again: what is its own, and what it leaves out of the layers.

    `own`: what was its own before; it stays so, even where the value is that of a layer.
    """
    taken = origins(layers, plan, own)
    mine = part(plan, [key for key in keys(plan) if key not in taken])
    there = set(keys(plan))
    return mine, tuple(key for key in keys(defaults(layers)) if key not in there)
