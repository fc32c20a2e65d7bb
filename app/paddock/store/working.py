"""The plan that is being worked on, one per model, and the last one that served."""

from __future__ import annotations

import hashlib
from pathlib import Path

from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.store.files import atomic_write, parse_toml, toml_bytes
from paddock.store.planform import plan_table, read_plan
from paddock.store.profile_form import SCHEMA, plain_first
from paddock.store.secret import drop_literals


def _path(folder: Path, model_identity: str | None, successful: bool) -> Path:
    key = hashlib.sha256((model_identity or "").encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return folder / f"{key}{'.good' if successful else ''}.toml"


def save(folder: Path, model_identity: str | None, plan: Plan, successful: bool) -> None:
    """Keep what the person is editing (debounced by the caller, and before every launch), without literal keys.

    `successful`: the plan got a server ready; kept apart, so that a later failed try does not replace it.
    """
    table = {"schema_version": SCHEMA, "model_identity": model_identity or "", **plan_table(drop_literals(plan))}
    atomic_write(_path(folder, model_identity, successful), toml_bytes(plain_first(table)), backup=False)


def load(folder: Path, model_identity: str | None, successful: bool) -> Plan | None:
    """What was kept, or None (also when the file is damaged: it is only a draft)."""
    path = _path(folder, model_identity, successful)
    try:
        return read_plan(parse_toml(path.read_bytes(), path))
    except (OSError, AppError):
        return None
