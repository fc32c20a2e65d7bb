"""Which models here could draft for the one in the plan, and the plan with one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddock.engine.model import Engine
from paddock.gguf.model import Kind
from paddock.launch.model import Plan

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_SMALLER = 8
"""A model that was not made as a draft should be smaller by this factor at least."""


def pairing_models(desk: Desk) -> list[Any]:
    """Entries of the library with the same vocabulary, made as a draft or at most an eighth of the size; smallest
    first. Empty while the model or the library is not known."""
    model = desk.preview.model if desk.preview is not None else None
    if model is None:
        return []
    found = []
    for entry in desk.entries or []:
        other = getattr(entry, "model", None)
        if other is None or other.path == model.path or other.kind not in (Kind.MODEL, Kind.DRAFT):
            continue
        alike = other.facts.vocabulary is not None and other.facts.vocabulary == model.facts.vocabulary
        if alike and (other.kind is Kind.DRAFT or other.size_bytes * _SMALLER <= model.size_bytes):
            found.append(entry)
    return sorted(found, key=lambda entry: entry.model.size_bytes)


def with_draft(plan: Plan, path: str, engine: Engine | None) -> Plan:
    """The plan with this draft, and with a type where none is chosen yet.

    Builds without --spec-type take the draft alone; newer ones refuse a draft whose kind is not said.
    """
    plan = plan.with_("spec-draft-model", path)
    if plan.get("spec-type", "none") == "none" and (engine is None or engine.knows("--spec-type") is not False):
        plan = plan.with_("spec-type", "draft-simple")
    return plan
