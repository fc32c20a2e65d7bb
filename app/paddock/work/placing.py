"""Auto placement for a plan on this machine, or on devices that are given."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from paddock.errors import AppError
from paddock.fit import Budget
from paddock.fit.autoplacement import Placed, auto_place
from paddock.gguf.model import ModelFile
from paddock.launch import Plan
from paddock.launch.spelling import write
from paddock.text import Text
from paddock.work.previewing import budgets_of, endpoints, engine_of, given_for

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace


def place(workspace: Workspace, plan: Plan, budgets: Sequence[Budget] | None = None,
          pinned: Collection[str] = (), corrections: bool | None = None) -> Placed:
    """The plan with its layers and experts placed. Raises AppError when the model cannot be read. `corrections`: as
    for the estimate."""
    path = plan.get("model")
    if not path:
        raise AppError(Text("No model is named."), hint=Text("Give a GGUF file, or -m FILE among the flags."))
    model = workspace.read_model(path)
    engine = engine_of(workspace, plan)
    machine = workspace.machine(engine, again=True, rpc=endpoints(plan))
    there = tuple(budgets) if budgets is not None else budgets_of(machine)
    given = given_for(workspace, model, engine, machine, beside(workspace, plan, "spec-draft-model"),
                      beside(workspace, plan, "mmproj"), corrections if budgets is None else bool(corrections))
    return auto_place(model, plan, there, pinned=pinned, **given)


def beside(workspace: Workspace, plan: Plan, option: str) -> ModelFile | None:
    """A draft or projector; None where there is none, or it cannot be read (the estimate then says so)."""
    path = plan.get(option)
    try:
        return workspace.read_model(path) if path else None
    except AppError:
        return None


def flags_of(workspace: Workspace, before: Plan, placed: Plan) -> str:
    """The flags that the placement sets, as a shell takes them, in the engine's spelling."""
    engine = engine_of(workspace, placed)
    kept = set(before.settings)
    return shlex.join(word for s in placed.settings if s not in kept for word in write(s, engine))
