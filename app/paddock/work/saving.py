"""Plans that are kept: profiles, and the working plan of each model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.errors import AppError
from paddock.launch import Plan
from paddock.launch.importing import Imported, import_plans
from paddock.store import Profile, Secrets
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.gguf.model import ModelFile
    from paddock.work.workspace import Workspace

DEFAULT_CONTEXT = 8192


def plan_for(workspace: Workspace, path: Path) -> Plan:
    """See Workspace.plan_for."""
    try:
        model = workspace.read_model(path)
    except AppError:
        return Plan().with_("model", str(path))
    kept = workspace.profiles.load_working(model.identity, successful=True)
    if kept is not None:
        return kept.with_("model", str(model.path))
    return default_plan(model)


def default_plan(model: ModelFile) -> Plan:
    """The model, and a context that is explicit: 8,192 tokens, or all it was trained for when that is less."""
    trained = model.facts.trained_context
    context = min(trained, DEFAULT_CONTEXT) if trained else DEFAULT_CONTEXT
    return Plan().with_("model", str(model.path)).with_("ctx-size", context)


def save_profile(workspace: Workspace, name: str, plan: Plan, **details: Any) -> Profile:
    """See Workspace.save_profile."""
    try:
        before = workspace.profiles.load(name)
        profile = replace(before, plan=plan, **details)
    except AppError:
        profile = Profile(name=name, plan=plan, **details)
    model = plan.get("model")
    if model:
        try:
            profile = replace(profile, model_identity=workspace.read_model(model).identity)
        except AppError:
            pass
    workspace.profiles.save(profile)
    return workspace.profiles.load(name)


def import_profiles(workspace: Workspace, text: str, name: str | None, hint: str) -> list[Profile]:
    """See Workspace.import_profiles."""
    if not text.strip():
        raise AppError(Text("There is nothing in it."),
                       hint=Text("Give a profile's TOML, or a llama-server command line."))
    if _is_own(text):
        return [workspace.profiles.import_text(text, name)]
    found = import_plans(text, hint)
    stem = Path(hint).stem if hint else None
    kept = []
    for one in found:
        own = one.name or stem or _name_of(one.plan)
        chosen = own if name is None else name if len(found) == 1 else f"{name}, {own}"
        kept.append(_save_imported(workspace, chosen, one))
    return kept


def _is_own(text: str) -> bool:
    """A profile of ours: TOML with our schema version or a settings table."""
    marks = ("schema_version=", "[settings]", "[[settings]]", "settings=")
    return any(line.replace(" ", "").startswith(marks) for line in text.splitlines()[:40])


def _save_imported(workspace: Workspace, name: str, one: Imported) -> Profile:
    """Saved under a name that is free; a literal key goes to the keyring, or becomes the name of a variable to set."""
    profile = Profile(name=_free_name(workspace, name), plan=one.plan)
    return workspace.profiles.save(profile, secret_saver=_keep_key)


def _keep_key(what: str, value: str) -> str:
    secrets = Secrets()
    reference = secrets.save(what, value)
    if secrets.notice is None:
        return reference
    return "env:HF_TOKEN" if "hf" in what.rsplit("/", 1)[-1].lower() else "env:LLAMA_API_KEY"


def _free_name(workspace: Workspace, wanted: str) -> str:
    taken = {n.casefold() for n in workspace.profiles.names()}
    unique, count = wanted, 1
    while unique.casefold() in taken:
        count += 1
        unique = f"{wanted} ({count})"
    return unique


def _name_of(plan: Plan) -> str:
    model = plan.get("model") or plan.get("hf-repo") or "imported"
    return model.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".gguf")
