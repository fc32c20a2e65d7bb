"""A saved profile becomes a plan that can be launched here and now: its defaults joined, moved files found again, old
flags carried over; and what was done is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.errors import AppError
from paddock.launch import Plan
from paddock.launch.layers import Layer, layered
from paddock.launch.migrating import migrated
from paddock.store import Profile
from paddock.text import Text
from paddock.work import previewing
from paddock.work.finding import found_again, namesakes

if TYPE_CHECKING:
    from paddock.engine import Engine
    from paddock.work.workspace import Workspace

FILES = ("mmproj", "spec-draft-model")
"""Options that name model files besides -m."""


@dataclass(frozen=True)
class Opened:
    """A profile on the way to a launch. `saved` is what it says, with its defaults; `plan` is what is launched.

    They differ where something had to be done, and `notices` says what.
    """

    profile: Profile
    saved: Plan
    plan: Plan
    layers: tuple[Layer, ...] = ()
    notices: tuple[Text, ...] = ()


def open_profile(workspace: Workspace, name: str, known: Sequence[Path] | None = None,
                 carry_over: bool = True) -> Opened:
    """Blocks (seconds where a file must be looked for). AppError: no such profile, or a damaged one.

    `known`: all model files, where they are known, so that nobody has to look for them. `carry_over`: whether flags
    that this engine calls otherwise are changed.
    """
    profile = workspace.profiles.load(name)
    notices = list(profile.notices)
    plan = _with_files(workspace, profile, known, notices)
    layers, damaged = layers_for(workspace, plan)
    notices += damaged
    saved = layered(layers, profile.plan, profile.left_out)
    plan = layered(layers, plan, profile.left_out)
    if carry_over:
        plan = _for_engine(workspace, profile, plan, notices)
    return Opened(profile, saved, plan, layers, tuple(notices))


def layers_for(workspace: Workspace, plan: Plan) -> tuple[tuple[Layer, ...], tuple[Text, ...]]:
    """The defaults that hold for a plan's model, and what could not be read of them."""
    return workspace.defaults.layers(architecture_of(workspace, plan))


def architecture_of(workspace: Workspace, plan: Plan) -> str | None:
    """As its model file names it; None where there is none that can be read."""
    path = plan.get("model")
    if not path:
        return None
    try:
        return workspace.read_model(path).architecture
    except (AppError, OSError):
        return None


def _with_files(workspace: Workspace, profile: Profile, known: Sequence[Path] | None, notices: list[Text]) -> Plan:
    plan = profile.plan
    identities = {**profile.files, **({"model": profile.model_identity} if profile.model_identity else {})}
    for option, identity in identities.items():
        path = plan.get(option)
        if not path:
            continue
        if Path(path).expanduser().exists():
            notices += _replaced(workspace, path, identity)
            continue
        found = found_again(workspace, path, identity, known)
        if found is not None:
            plan = plan.with_(option, str(found))
            notices.append(Text("“{old}” is not there any more; the same file was found as “{new}”.", old=path,
                                new=found))
        else:
            notices.append(Text("“{old}” is not there, and no file with the same content was found in the places of "
                                "models.", old=path))
    model = plan.get("model")
    if model and "model" not in identities and not Path(model).expanduser().exists():
        notices.append(_namesake(workspace, model, known))
    return plan


def _namesake(workspace: Workspace, path: str, known: Sequence[Path] | None) -> Text:
    """Nothing but the name is known of the file: one of that name is told, never taken."""
    found = namesakes(workspace, path, known)
    if not found:
        return Text("“{path}” is not there.", path=path)
    return Text("“{path}” is not there. “{other}” has the same name; whether it is the same file cannot be told.",
                path=path, other=found[0])


def _replaced(workspace: Workspace, path: str, identity: str) -> list[Text]:
    try:
        same = workspace.read_model(path).identity == identity
    except (AppError, OSError):
        return []
    return [] if same else [Text("“{path}” is another file than the one that this profile was saved with.", path=path)]


def _for_engine(workspace: Workspace, profile: Profile, plan: Plan, notices: list[Text]) -> Plan:
    """The plan in the words of the engine that will run it."""
    try:
        engine = previewing.engine_of(workspace, plan)
    except AppError:
        return plan
    if engine is None:
        return plan
    if plan.engine and not _is_meant(plan.engine, engine):
        notices.append(Text("The engine “{old}” is not here: “{new}” is used.", old=plan.engine, new=engine.name))
    found = migrated(plan, engine)
    if (found.steps or found.left) and profile.saved_with and profile.saved_with != engine.name:
        notices.append(Text("It was saved with “{old}”; this engine is “{new}”.", old=profile.saved_with,
                            new=engine.name))
    notices += found.steps
    notices += [issue.text for issue in found.left]
    return found.plan


def _is_meant(wanted: str, engine: Engine) -> bool:
    return wanted.lower() in (str(engine.path).lower(), engine.source.lower()) or wanted.lower() in engine.name.lower()


def with_notices(opened: Opened) -> Profile:
    """The profile, carrying all that was said on the way."""
    return replace(opened.profile, notices=opened.notices)
