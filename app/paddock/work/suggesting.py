"""A use case for a plan, with what is known of its model, engine and machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.errors import AppError
from paddock.launch import Plan
from paddock.launch.use_cases import Suggestion, UseCase, suggest
from paddock.work import previewing

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace


def suggestion(workspace: Workspace, case: UseCase, plan: Plan) -> Suggestion:
    """Blocks (an engine may have to be asked). What cannot be read or found is left out of the reckoning."""
    path = plan.get("model")
    try:
        model = workspace.read_model(path) if path else None
    except (AppError, OSError):
        model = None
    try:
        engine = previewing.engine_of(workspace, plan)
    except AppError:
        engine = None
    return suggest(case, plan, model, engine, workspace.machine(engine))
