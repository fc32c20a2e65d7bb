"""PROFILE|FILE and flags become a plan; a plan becomes an export."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.errors import AppError
from paddock.launch import Plan
from paddock.launch.export import export as export_as
from paddock.launch.layers import layered
from paddock.launch.model import Setting
from paddock.launch.parsing import parse_argv
from paddock.paths import as_typed
from paddock.store import Profile
from paddock.text import Text
from paddock.work import opening, previewing

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace

_ONE_MODEL = ("model", "hf-repo", "model-url", "docker-repo")
_SOURCES = (*_ONE_MODEL, "models-dir", "models-preset")
_SHARD = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)


def resolve(workspace: Workspace, target: str | None, flags: Sequence[str]) -> tuple[Plan, Profile | None]:
    """See Workspace.resolve. Flags come after what a profile holds, so they win."""
    extra = _verbatim(parse_argv(list(flags)))
    if target is None:
        if not any(extra.find(o) for o in _SOURCES):
            raise AppError(Text("No model is named."),
                           hint=Text("Give a GGUF file or a profile's name, or -m, -hf, -mu or --models-dir among the "
                                     "flags after --."))
        return _finished(workspace, extra), None
    target = as_typed(target)
    if not target:
        raise AppError(Text("No model is named."), hint=Text("Give a GGUF file or a profile's name."))
    path = Path(target).expanduser()
    called_like_a_file = target.lower().endswith(".gguf") or path.is_dir()
    if (path.exists() and not path.is_dir()) or (called_like_a_file and not _is_profile(workspace, target)):
        return _finished(workspace, _merge(Plan().with_("model", str(path)), extra)), None
    opened = opening.open_profile(workspace, target)
    return _with_engine(workspace, _merge(opened.plan, extra)), opening.with_notices(opened)


def _is_profile(workspace: Workspace, name: str) -> bool:
    """A profile may be called like a file or folder: it is meant where no such file is there."""
    return name in workspace.profiles.names()


def _finished(workspace: Workspace, plan: Plan) -> Plan:
    """With the person's defaults for this model and the engine that was chosen; a folder of models has none."""
    plan = _first_shard(workspace, plan)
    if any(plan.find(option) for option in _ONE_MODEL):
        plan = layered(opening.layers_for(workspace, plan)[0], plan)
    return _with_engine(workspace, plan)


def _verbatim(plan: Plan) -> Plan:
    """Words that belong to no flag were meant for llama.cpp all the same: it would stop at them, and the checks say so.

    In a pasted line they may be anything, and are left out; behind `--` they are nothing else.
    """
    return replace(plan, settings=(*plan.settings, *(Setting(word) for word in plan.extra)), extra=())


def _merge(base: Plan, extra: Plan) -> Plan:
    """Settings of both; an option that is set anew is replaced where it stood, unless it adds up (-ot, --lora)."""
    plan = base
    if extra.find("model"):
        plan = plan.without("model")
    fresh = {s.option for s in extra if s.option not in ("override-tensor", "lora", "lora-scaled")}
    settings = tuple(s for s in plan if s.option not in fresh) + extra.settings
    environment = {**dict(base.environment), **dict(extra.environment)}
    return replace(plan, settings=settings, environment=tuple(environment.items()),
                   prefix=extra.prefix or base.prefix, engine=extra.engine or base.engine,
                   extra=base.extra + extra.extra)


def _first_shard(workspace: Workspace, plan: Plan) -> Plan:
    """Whichever shard was picked, argv gets the first."""
    path = plan.get("model")
    if not path or not _SHARD.search(path):
        return plan
    try:
        return plan.with_("model", str(workspace.read_model(path).path))
    except AppError:
        return plan


def _with_engine(workspace: Workspace, plan: Plan) -> Plan:
    """--engine on the command line wins over what the plan says."""
    chosen = workspace.chosen_engine
    return replace(plan, engine=chosen) if chosen else plan


def export(workspace: Workspace, plan: Plan, form: str, additions: bool) -> str:
    """See Workspace.export."""
    engine = previewing.engine_of(workspace, plan)
    if engine is None:
        raise AppError(Text("No llama.cpp was found, so its command cannot be written."),
                       hint=Text("Install one (or run scripts/start.py), or name it with --engine PATH."))
    conditions = previewing.conditions_of(plan)
    made = previewing.command_of(workspace, plan, engine, conditions, None if additions else ())
    return export_as(made, form, additions=additions)
