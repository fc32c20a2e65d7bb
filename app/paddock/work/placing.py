"""Auto placement and fixes for a plan on this machine, or on devices that are given."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from paddock.fit import Budget, Estimate, Fix, fixes
from paddock.fit.autoplacement import Placed, auto_place
from paddock.fit.ceiling import bandwidths
from paddock.launch import Plan
from paddock.launch.spelling import write
from paddock.work.foretelling import ram_speed
from paddock.work.previewing import case_of, engine_of

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace


def place(workspace: Workspace, plan: Plan, budgets: Sequence[Budget] | None = None,
          pinned: Collection[str] = (), corrections: bool | None = None) -> Placed:
    """The plan with its layers and experts placed. Raises AppError when the model cannot be read. `corrections`: as
    for the estimate."""
    case = case_of(workspace, plan, budgets, corrections)
    return auto_place(case.model, case.plan, case.budgets, pinned=pinned, **case.given)


def fixes_for(workspace: Workspace, plan: Plan, before: Estimate, budgets: Sequence[Budget] | None = None,
              corrections: bool | None = None) -> tuple[Fix, ...]:
    """What would make this plan fit, best first, with the speed that memory then allows. `before`: its estimate."""
    case = case_of(workspace, plan, budgets, corrections, again=False)
    speeds = bandwidths(case.budgets, ram_speed(workspace.paths, measure=False))
    return fixes(case.model, case.plan, case.budgets, before, speeds=speeds, **case.given)


def flags_of(workspace: Workspace, before: Plan, placed: Plan) -> str:
    """The flags that the placement sets, as a shell takes them, in the engine's spelling."""
    engine = engine_of(workspace, placed)
    kept = set(before.settings)
    return shlex.join(word for s in placed.settings if s not in kept for word in write(s, engine))
