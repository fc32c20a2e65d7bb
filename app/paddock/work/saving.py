"""Plans that are kept: profiles, and the working plan of each model."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.errors import AppError
from paddock.launch import Plan
from paddock.launch.comparing import changes
from paddock.launch.importing import Imported, import_plans
from paddock.launch.layers import Layer, keys, layered, own_part
from paddock.paths import file_name
from paddock.store import Profile, Secrets
from paddock.store.naming import free_name
from paddock.store.secret import variable_for
from paddock.text import Text
from paddock.work import companions, previewing
from paddock.work.opening import FILES, layers_for

if TYPE_CHECKING:
    from paddock.gguf.model import ModelFile
    from paddock.work.workspace import Workspace

DEFAULT_CONTEXT = 8192
_JOINERS = "\u200d\ufe0f"
"""Join pictures to one, and choose how they look: part of a name, though they are not printed by themselves."""


def plan_for(workspace: Workspace, path: Path) -> Plan:
    """See Workspace.plan_for."""
    try:
        model = workspace.read_model(path)
    except AppError:
        return Plan().with_("model", str(path))
    kept = workspace.profiles.load_working(model.identity, successful=True)
    if kept is not None:
        return kept.with_("model", str(model.path))
    plan = default_plan(model, workspace.defaults.layers(model.architecture)[0])
    return companions.with_companions(workspace, plan, model)


def unfinished(workspace: Workspace, plan: Plan) -> Plan | None:
    """What was last edited for this plan's model and is another plan: it did not serve, or was never launched."""
    model = _identities(workspace, plan, ("model",)).get("model")
    kept = workspace.profiles.load_working(model) if model is not None else None
    if kept is None:
        return None
    kept = kept.with_("model", plan.get("model") or "")
    return kept if changes(plan, kept) else None


def keep_unfinished(workspace: Workspace, plan: Plan) -> None:
    """Remember what is being edited, for its model. AppError where the folder cannot be written."""
    model = _identities(workspace, plan, ("model",)).get("model")
    if model is not None and workspace.profiles.load_working(model) != plan:
        workspace.profiles.save_working(model, plan)


def default_plan(model: ModelFile, layers: Sequence[Layer] = ()) -> Plan:
    """The model, the person's defaults, and where those say nothing of it a context that is explicit: 8,192 tokens, or
    all it was trained for when that is less."""
    plan = layered(layers, Plan().with_("model", str(model.path)))
    if plan.find("ctx-size") is not None:
        return plan
    trained = model.facts.trained_context
    return plan.with_("ctx-size", min(trained, DEFAULT_CONTEXT) if trained else DEFAULT_CONTEXT)


def save_profile(workspace: Workspace, name: str, plan: Plan, expected: int | None = None, **details: Any) -> Profile:
    """See Workspace.save_profile."""
    name = clean_name(name)
    try:
        before: Profile | None = workspace.profiles.load(name)
    except AppError:
        before = None
    profile = replace(before or Profile(name=name, plan=plan), **details)
    layers, _ = layers_for(workspace, plan)
    own, left_out = own_part(layers, plan, before.plan if before is not None else None)
    there = keys(plan)
    # What it left out of the defaults of another model stays left out.
    left_out += tuple(key for key in profile.left_out if key not in left_out and key not in there)
    profile = replace(profile, plan=own, left_out=left_out, saved_with=_engine_name(workspace, plan),
                      files=_identities(workspace, plan, FILES))
    model = _identities(workspace, plan, ("model",)).get("model")
    if model is not None:
        profile = replace(profile, model_identity=model)
    return workspace.profiles.save(profile, expected=expected)


def clean_name(name: str) -> str:
    """A name as it is shown: one line, without spaces around it, one form of each accented letter. AppError: none."""
    words = unicodedata.normalize("NFC", name)
    cleaned = " ".join("".join(c if c.isprintable() or c in _JOINERS else " " for c in words).split())
    if not cleaned:
        raise AppError(Text("A profile needs a name."))
    return cleaned


def _identities(workspace: Workspace, plan: Plan, options: Sequence[str]) -> dict[str, str]:
    found = {}
    for option in options:
        path = plan.get(option)
        if not path:
            continue
        try:
            found[option] = workspace.read_model(path).identity
        except (AppError, OSError):
            continue
    return found


def _engine_name(workspace: Workspace, plan: Plan) -> str | None:
    try:
        engine = previewing.engine_of(workspace, plan)
    except AppError:
        return None
    return engine.name if engine is not None else None


def import_profiles(workspace: Workspace, text: str, name: str | None, hint: str) -> list[Profile]:
    """See Workspace.import_profiles."""
    if not text.strip():
        raise AppError(Text("There is nothing in it."),
                       hint=Text("Give a profile's TOML, or a llama-server command line."))
    if _is_own(text):
        cleaned = clean_name(name) if name is not None else None
        return [workspace.profiles.import_text(text, cleaned, secret_saver=_keep_key, where=hint)]
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
    profile = Profile(name=free_name(clean_name(name), workspace.profiles.names()), plan=one.plan)
    return workspace.profiles.save(profile, secret_saver=_keep_key)


def _keep_key(what: str, value: str) -> str:
    secrets = Secrets()
    reference = secrets.save(what, value)
    return reference if secrets.notice is None else variable_for(what, value)


def _name_of(plan: Plan) -> str:
    model = plan.get("model") or plan.get("hf-repo") or "imported"
    return file_name(model).removesuffix(".gguf")
