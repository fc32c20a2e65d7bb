"""A profile as a value and as a TOML table: the forms it had, and how an older one is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.store.files import toml_bytes
from paddock.store.planform import plan_table, read_plan
from paddock.text import Text

SCHEMA = 2
"""1: until there were defaults and a history. 2: `id`, `revision`, `left_out`, `saved_with`, `colour`, `files`."""
COLOURS = ("blue", "orange", "purple", "teal", "pink", "grey")
"""What a profile can be marked with; the faces say how each looks. Any other word is kept and shown as none."""
_ID = re.compile(r"[0-9a-f]{32}")
PLAN_KEYS = frozenset(("engine", "prefix", "extra", "environment", "settings"))
_KNOWN: dict[str, type] = {
    "schema_version": int, "id": str, "name": str, "revision": int, "notes": str, "colour": str, "tags": list,
    "keep_serving": bool, "restart_limit": int, "left_out": list, "saved_with": str, "model_identity": str,
    "files": dict, "created": str, "modified": str}


@dataclass(frozen=True)
class Profile:
    """A plan that is kept, with what belongs to it. Stamps are UTC, ISO 8601, set by `Profiles.save`."""

    name: str
    plan: Plan
    """Its own part: what it does not set comes from the defaults (see launch.layers)."""
    notes: str = ""
    tags: tuple[str, ...] = ()
    keep_serving: bool = False
    restart_limit: int = 0
    model_identity: str | None = None
    """What `gguf` says the file is, to find it again when it moved."""
    created: str | None = None
    modified: str | None = None
    other: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the file that this version does not know; written back as they are."""
    colour: str = ""
    """One of `COLOURS`, or empty."""
    left_out: tuple[str, ...] = ()
    """Options, variables, "prefix" or "engine" that the defaults set and this profile does not want."""
    saved_with: str | None = None
    """The engine that it was saved with, as people know it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Option -> identity of the other model files that it names (a projector, a draft)."""
    id: str | None = None
    """32 hex digits, given at the first save; stays through renames, and names its history."""
    revision: int = 0
    """Counts the saves."""
    notices: tuple[Text, ...] = field(default=(), compare=False)
    """What a person should know of how it was read or saved; never written."""


def profile_text(profile: Profile) -> str:
    """The profile as TOML."""
    return toml_bytes(profile_table(profile)).decode("utf-8", "surrogateescape")


def profile_table(profile: Profile) -> dict[str, Any]:
    """The profile as a table; what is empty is left out."""
    head: dict[str, Any] = {"schema_version": SCHEMA}
    for key in ("id", "name", "revision", "notes", "colour", "tags", "keep_serving", "restart_limit", "left_out",
                "saved_with", "model_identity", "created", "modified"):
        value = getattr(profile, key)
        if value or key == "name" or (value is not None and key in ("saved_with", "model_identity", "created",
                                                                    "modified")):
            head[key] = list(value) if isinstance(value, tuple) else value
    if profile.files:
        head["files"] = dict(profile.files)
    other = {k: v for k, v in profile.other.items() if k not in _KNOWN and k not in PLAN_KEYS}
    return plain_first({**head, **plan_table(profile.plan), **other})


def plain_first(table: dict[str, Any]) -> dict[str, Any]:
    """TOML: a plain key after a table would belong to that table, so plain keys come first."""
    tables = {k: v for k, v in table.items() if isinstance(v, dict) or k == "settings"}
    return {**{k: v for k, v in table.items() if k not in tables}, **tables}


def read_profile(table: dict[str, Any], fallback: str, where: Path | str) -> Profile:
    """The profile in a table; `fallback` is its name where it has none. AppError says what is wrong with the file."""
    version = table.get("schema_version", SCHEMA)
    if isinstance(version, int) and version > SCHEMA:
        raise AppError(Text("“{path}” was saved by a newer Paddock (form {theirs}, this one knows {ours}).", path=where,
                            theirs=version, ours=SCHEMA), hint=Text("Update Paddock to use it."))
    _check(table, where)
    identity = table.get("id")
    return Profile(
        name=table.get("name") or fallback, plan=read_plan(table), notes=table.get("notes", ""),
        tags=_texts(table.get("tags", [])), keep_serving=table.get("keep_serving", False),
        restart_limit=table.get("restart_limit", 0), model_identity=table.get("model_identity"),
        created=table.get("created"), modified=table.get("modified"), colour=table.get("colour", ""),
        left_out=_texts(table.get("left_out", [])), saved_with=table.get("saved_with"),
        files={k: v for k, v in table.get("files", {}).items() if isinstance(v, str)},
        # An id names a folder, so nothing but digits is taken for one.
        id=identity if identity is not None and _ID.fullmatch(identity) else None,
        revision=max(0, table.get("revision", 0)), notices=_upgraded(version),
        other={k: v for k, v in table.items() if k not in _KNOWN and k not in PLAN_KEYS})


def _texts(value: list[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in value)


def _check(table: dict[str, Any], where: Path | str) -> None:
    for key, kind in _KNOWN.items():
        value = table.get(key)
        if key in table and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise AppError(Text("“{path}”: “{key}” does not hold what belongs there.", path=where, key=key),
                           why=repr(value)[:80])
    if "settings" not in table and not PLAN_KEYS & table.keys() and "name" not in table:
        raise AppError(Text("“{path}” is a TOML file, but not a profile.", path=where),
                       hint=Text("A profile has a name and a table [settings]."))


def _upgraded(version: object) -> tuple[Text, ...]:
    """What reading an older form meant, step by step."""
    if not isinstance(version, int) or version >= SCHEMA:
        return ()
    return (Text("It was saved by an older Paddock (form {old}, now {new}): what it does not set now comes from your "
                 "defaults, if there are any, and its history begins with the next save.", old=version, new=SCHEMA),)
