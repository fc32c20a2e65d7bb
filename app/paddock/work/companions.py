"""What goes with a model when it is opened: its projector where only one fits, and what the person chose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.errors import AppError
from paddock.launch import Plan
from paddock.library import Entry, Pairing, draft_pairing, projector_pairing
from paddock.library.pairing import OWN_LAYERS, draft_type

if TYPE_CHECKING:
    from paddock.gguf import ModelFile
    from paddock.work.workspace import Workspace

OPTIONS = {"projector": "mmproj", "draft": "spec-draft-model"}
_SIMPLE, _MTP, _UNTOLD = "draft-simple", "draft-mtp", "draft-dspark"
_MOST_NEIGHBOURS = 200
"""In a folder with more files only those whose names speak of a projector are looked into."""


@dataclass(frozen=True)
class Companions:
    """A model's projector and draft."""

    projector: Pairing
    draft: Pairing


def companions(workspace: Workspace, entry: Entry, entries: Sequence[Entry]) -> Companions:
    """What the library has for this model, and the person's word. Reads nothing from the disk."""
    identity = entry.model.identity if entry.model is not None else ""
    settings = workspace.settings
    return Companions(projector_pairing(entry, entries, settings.projector_of.get(identity)),
                      draft_pairing(entry, entries, settings.draft_of.get(identity)))


def choose(workspace: Workspace, model: ModelFile, kind: str, path: str | None) -> None:
    """Remember the person's word for a model: a path, "" for none on purpose, None to decide by metadata again;
    for a draft also `OWN_LAYERS`, the model's own.

    `kind`: "projector" or "draft". The working plan of the model, if there is one, is changed too, so that the word
    holds at the next opening. Raises AppError when it cannot be saved.
    """
    words = workspace.settings.projector_of if kind == "projector" else workspace.settings.draft_of
    if path is None:
        words.pop(model.identity, None)
    else:
        words[model.identity] = path
    workspace.save_settings()
    for successful in (True, False):
        plan = workspace.profiles.load_working(model.identity, successful=successful)
        if plan is not None:
            workspace.profiles.save_working(model.identity, _with(workspace, plan, kind, path), successful=successful)


def _with(workspace: Workspace, plan: Plan, kind: str, path: str | None) -> Plan:
    option = OPTIONS[kind]
    if kind == "draft" and path == OWN_LAYERS:
        return own_drafted(plan)
    if path:
        return plan.with_(option, path) if kind == "projector" else _with_draft(workspace, plan, path)
    return plan.without(option, "spec-type") if kind == "draft" else plan.without(option)


def with_companions(workspace: Workspace, plan: Plan, model: ModelFile) -> Plan:
    """A new plan with the projector and the draft that go with its model; what it names already stays."""
    identity = model.identity
    settings = workspace.settings
    draft = settings.draft_of.get(identity)
    if draft == OWN_LAYERS and model.facts.nextn_layers and plan.find("spec-type") is None:
        plan = own_drafted(plan)
    elif draft and plan.find("spec-draft-model") is None and Path(draft).is_file():
        plan = _with_draft(workspace, plan, draft)
    if plan.find("mmproj") is not None:
        return plan
    word = settings.projector_of.get(identity)
    if word is not None:
        return plan.with_("mmproj", word) if word and Path(word).is_file() else plan
    entry = Entry(model.path, "", model)
    chosen = projector_pairing(entry, [entry, *neighbours(workspace, model.path)]).chosen
    return plan.with_("mmproj", str(chosen.path)) if chosen is not None else plan


def _with_draft(workspace: Workspace, plan: Plan, path: str) -> Plan:
    if plan.find("spec-type") is not None:
        return plan.with_("spec-draft-model", path)
    return drafted(plan, path, _read(workspace, path))


def _read(workspace: Workspace, path: str) -> ModelFile | None:
    try:
        return workspace.read_model(path)
    except AppError:
        return None


def drafted(plan: Plan, path: str, draft: ModelFile | None, types: bool = True) -> Plan:
    """The plan with this draft and the type that it was made for: MTP, EAGLE-3, DFlash, else a simple one.

    Types that need no draft (ngram-…) stay beside it; one of another kind of draft goes, but "draft-dspark", which no
    header tells, stays where it was chosen. `draft`: None where the file cannot be read. `types`: False for an engine
    without --spec-type, which takes the draft alone.
    """
    plan = plan.with_("spec-draft-model", path)
    if not types:
        return plan
    named = [part for part in (plan.get("spec-type") or "").split(",") if part not in ("", "none")]
    kind = draft_type(draft) if draft is not None else _SIMPLE
    if _UNTOLD in named and kind == _SIMPLE:
        return plan
    return plan.with_("spec-type", ",".join((kind, *(part for part in named if not part.startswith("draft-")))))


def own_drafted(plan: Plan) -> Plan:
    """The plan that drafts with the model's own prediction layers."""
    named = [part for part in (plan.get("spec-type") or "").split(",") if part not in ("", "none")]
    rest = (part for part in named if not part.startswith("draft-"))
    return plan.without("spec-draft-model").with_("spec-type", ",".join((_MTP, *rest)))


def neighbours(workspace: Workspace, path: Path) -> list[Entry]:
    """The other model files of a folder, from the cache of headers where they were read before."""
    try:
        names = sorted(name for name in os.listdir(path.parent) if name.lower().endswith(".gguf") and name != path.name)
    except OSError:
        return []
    if len(names) > _MOST_NEIGHBOURS:
        names = [name for name in names if "mmproj" in name.lower()]
    found = []
    for name in names:
        try:
            found.append(Entry(path.parent / name, "", workspace.read_model(path.parent / name)))
        except AppError:
            continue
    return found
