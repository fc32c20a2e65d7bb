"""Which models here could draft for the one in the plan, and the plan with one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddock.desktop import bridge
from paddock.errors import AppError
from paddock.gguf.model import ModelFile
from paddock.library import drafts_for
from paddock.work.companions import drafted, own_drafted

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


def pairing_models(desk: Desk) -> list[Any]:
    """Entries of the library that could draft (`library.drafts_for`). Empty while model or library are not known."""
    model = desk.preview.model if desk.preview is not None else None
    return drafts_for(model, desk.entries or []) if model is not None else []


def own_layers(desk: Desk) -> int:
    """Layers of the plan's model that predict further tokens by themselves (MTP); 0 while it is not known."""
    preview = desk.preview
    model = preview.model if preview is not None and preview.plan.get("model") == desk.model_path() else None
    return model.facts.nextn_layers if model is not None and _types(desk) else 0


def drafts_itself(desk: Desk) -> bool:
    """The plan drafts with the model's own layers."""
    plan = desk.plan
    return not plan.get("spec-draft-model") and "draft-mtp" in (plan.get("spec-type") or "").split(",")


def take_draft(desk: Desk, path: str) -> None:
    """Put this draft on the desk, with the type that it was made for: at once where the library knows the file, else
    when its header was read, if the plan is still for the same model then."""
    known = next((e.model for e in desk.entries or [] if str(e.path) == path), None)
    if known is not None:
        desk.edit(drafted(desk.plan, path, known, _types(desk)))
        return
    asked = desk.model_path()

    def read() -> ModelFile | None:
        try:
            return desk.workspace.read_model(path)
        except AppError:
            return None  # the checks say what is wrong with it

    def take(draft: ModelFile | None) -> None:
        if desk.model_path() == asked:
            desk.edit(drafted(desk.plan, path, draft, _types(desk)))

    bridge.run(read, take, desk.failed.emit, desk, name="draft model")


def take_own(desk: Desk) -> None:
    """Put the model's own prediction layers on the desk."""
    desk.edit(own_drafted(desk.plan))


def _types(desk: Desk) -> bool:
    """Builds without --spec-type take the draft alone; newer ones refuse a draft whose kind is not said."""
    engine = desk.engine()
    return engine is None or engine.knows("--spec-type") is not False
