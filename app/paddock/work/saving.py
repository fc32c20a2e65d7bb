"""Plans that are kept: profiles, and the working plan of each model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.errors import AppError
from paddock.launch import Plan, parse
from paddock.store import Profile
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
    kept = workspace.profiles.load_working(model.identity)
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


def import_profile(workspace: Workspace, text: str, name: str | None, fallback: str | None) -> Profile:
    """See Workspace.import_profile."""
    if not text.strip():
        raise AppError(Text("There is nothing in it."),
                       hint=Text("Give a profile's TOML, or a llama-server command line."))
    first = next((line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")), "")
    if first.startswith("[") or "=" in first.split(" ")[0] or first.split(" ")[1:2] == ["="]:
        try:
            profile = workspace.profiles.import_text(text, name)
        except AppError:
            if " -" not in text:
                raise
        else:
            workspace.profiles.save(profile)
            return workspace.profiles.load(profile.name)
    plan = parse(text)
    if not plan.settings:
        raise AppError(Text("Neither a profile nor a llama-server command line was found in it."),
                       hint=Text("A command line starts with llama-server or llama serve and holds flags such as -m."))
    chosen = name or fallback or _name_of(plan)
    profile = Profile(name=chosen, plan=plan)
    workspace.profiles.save(profile)
    return workspace.profiles.load(chosen)


def _name_of(plan: Plan) -> str:
    model = plan.get("model") or plan.get("hf-repo") or "imported"
    return model.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".gguf")
