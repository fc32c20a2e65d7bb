"""Which models here could draft for the one in the plan, and the plan with one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddock.engine.model import Engine
from paddock.launch.model import Plan
from paddock.library import drafts_for

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


def pairing_models(desk: Desk) -> list[Any]:
    """Entries of the library that could draft (`library.drafts_for`). Empty while model or library are not known."""
    model = desk.preview.model if desk.preview is not None else None
    return drafts_for(model, desk.entries or []) if model is not None else []


def with_draft(plan: Plan, path: str, engine: Engine | None) -> Plan:
    """The plan with this draft, and with a type where none is chosen yet.

    Builds without --spec-type take the draft alone; newer ones refuse a draft whose kind is not said.
    """
    plan = plan.with_("spec-draft-model", path)
    if plan.get("spec-type", "none") == "none" and (engine is None or engine.knows("--spec-type") is not False):
        plan = plan.with_("spec-type", "draft-simple")
    return plan
