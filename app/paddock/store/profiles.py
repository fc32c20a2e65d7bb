"""Profiles: saved plans, one TOML file each, and the working plan of every model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.store.files import atomic_write, parse_toml, toml_bytes
from paddock.store.planform import plan_table, read_plan
from paddock.store.secret import SecretSaver, drop_literals, without_literals
from paddock.text import Text

SCHEMA = 1
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)$", re.IGNORECASE)
_PLAN_KEYS = {"engine", "prefix", "extra", "environment", "settings"}


@dataclass(frozen=True)
class Profile:
    """A plan that is kept, with what belongs to it. Stamps are UTC, ISO 8601, set by `Profiles.save`."""

    name: str
    plan: Plan
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


def profile_text(profile: Profile) -> str:
    """The profile as TOML."""
    return toml_bytes(_table(profile)).decode("utf-8", "surrogateescape")


def _table(profile: Profile) -> dict[str, Any]:
    head: dict[str, Any] = {"schema_version": SCHEMA, "name": profile.name}
    for key in ("notes", "keep_serving", "restart_limit"):
        if getattr(profile, key):
            head[key] = getattr(profile, key)
    if profile.tags:
        head["tags"] = list(profile.tags)
    for key in ("model_identity", "created", "modified"):
        if getattr(profile, key) is not None:
            head[key] = getattr(profile, key)
    plan = plan_table(profile.plan)
    known = set(_KNOWN) | _PLAN_KEYS
    other = {k: v for k, v in profile.other.items() if k not in known}
    merged = {**head, **plan, **other}
    # TOML: a plain key after a table would belong to that table, so plain keys come first.
    tables = {k: v for k, v in merged.items() if isinstance(v, dict) or k == "settings"}
    return {**{k: v for k, v in merged.items() if k not in tables}, **tables}


_KNOWN: dict[str, type | tuple[type, ...]] = {
    "schema_version": int, "name": str, "notes": str, "tags": list, "keep_serving": bool, "restart_limit": int,
    "model_identity": str, "created": str, "modified": str}


def _read(table: dict[str, Any], fallback: str, where: Path | str) -> Profile:
    version = table.get("schema_version", SCHEMA)
    if isinstance(version, int) and version > SCHEMA:
        raise AppError(Text("“{path}” was saved by a newer Paddock (form {theirs}, this one knows {ours}).", path=where,
                            theirs=version, ours=SCHEMA), hint=Text("Update Paddock to use it."))
    for key, kind in _KNOWN.items():
        if key in table and not isinstance(table[key], kind):
            raise AppError(Text("“{path}”: “{key}” does not hold what belongs there.", path=where, key=key),
                           why=repr(table[key])[:80])
    if "settings" not in table and not _PLAN_KEYS & table.keys() and "name" not in table:
        raise AppError(Text("“{path}” is a TOML file, but not a profile.", path=where),
                       hint=Text("A profile has a name and a table [settings]."))
    return Profile(
        name=table.get("name") or fallback, plan=read_plan(table), notes=table.get("notes", ""),
        tags=tuple(str(t) for t in table.get("tags", [])), keep_serving=table.get("keep_serving", False),
        restart_limit=table.get("restart_limit", 0), model_identity=table.get("model_identity"),
        created=table.get("created"), modified=table.get("modified"),
        other={k: v for k, v in table.items() if k not in _KNOWN and k not in _PLAN_KEYS})


def file_name(name: str) -> str:
    """A file name that every system takes, readable where the name is: no separators, dots in front, device names."""
    safe = "".join(c if c.isalnum() or c in " -_.()+" else f"%{ord(c):02X}" for c in name).strip(" .") or "%"
    if len(safe.encode()) > 120:
        safe = safe.encode()[:100].decode("utf-8", "ignore") + "-" + hashlib.sha256(name.encode(
            "utf-8", "surrogatepass")).hexdigest()[:12]
    if _RESERVED.match(safe.split(".")[0]):
        safe = "_" + safe
    return safe + ".toml"


class Profiles:
    """The folder of profiles. Reads the disk on every call, so that two Paddocks see the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _files(self) -> tuple[dict[str, Path], list[tuple[Path, AppError]]]:
        found: dict[str, Path] = {}
        problems: list[tuple[Path, AppError]] = []
        for path in sorted(self.folder.glob("*.toml")):
            try:
                profile = self._load(path)
            except AppError as error:
                problems.append((path, error))
                continue
            if profile.name in found:
                problems.append((path, AppError(Text(
                    "“{path}” has the same name “{name}” as “{other}” and is left out.",
                    path=path, name=profile.name, other=found[profile.name].name))))
                continue
            found[profile.name] = path
        return found, problems

    @staticmethod
    def _load(path: Path) -> Profile:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise AppError(Text("“{path}” could not be read.", path=path), why=error.strerror or str(error)) from error
        return _read(parse_toml(data, path), path.stem, path)

    def names(self) -> list[str]:
        """Names of the profiles that can be read, in alphabetical order."""
        return sorted(self._files()[0], key=str.casefold)

    @property
    def problems(self) -> list[tuple[Path, AppError]]:
        """Files in the folder that are no usable profiles, with the reason."""
        return self._files()[1]

    def load(self, name: str) -> Profile:
        """AppError: no such profile, or its file is damaged, or from a newer Paddock."""
        found, problems = self._files()
        if name in found:
            return self._load(found[name])
        for path, error in problems:
            if path.name == file_name(name) or path.stem == name:
                raise error
        raise AppError(Text("There is no profile “{name}”.", name=name),
                       hint=Text("`paddock profiles list` shows them all."))

    def save(
        self, profile: Profile, *, secret_saver: SecretSaver | None = None, replace_existing: bool = True
    ) -> Profile:
        """Write it, atomically; returns what was written (stamps set, literal keys replaced by references).

        AppError: an empty name, a name in use (without `replace_existing`), a literal key without a `secret_saver`.
        """
        if not profile.name.strip():
            raise AppError(Text("A profile needs a name."))
        found, _ = self._files()
        if profile.name in found and not replace_existing:
            raise AppError(Text("There is a profile “{name}” already.", name=profile.name))
        plan = without_literals(profile.plan, secret_saver, profile.name)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        saved = replace(profile, plan=plan, created=profile.created or now, modified=now)
        atomic_write(found.get(profile.name) or self._new_path(profile.name), toml_bytes(_table(saved)))
        return saved

    def _new_path(self, name: str) -> Path:
        wanted = self.folder / file_name(name)
        path, count = wanted, 1
        while path.exists():
            count += 1
            path = wanted.with_name(f"{wanted.stem}-{count}.toml")
        return path

    def delete(self, name: str) -> None:
        """AppError when there is none of that name."""
        found, _ = self._files()
        if name not in found:
            raise AppError(Text("There is no profile “{name}”.", name=name))
        try:
            found[name].unlink()
        except OSError as error:
            raise AppError(Text("“{path}” could not be deleted.", path=found[name]),
                           why=error.strerror or str(error)) from error

    def rename(self, name: str, new: str) -> Profile:
        """AppError when there is none of that name, or one of the new name."""
        profile = self.load(name)
        if new == name:
            return profile
        saved = self.save(replace(profile, name=new), replace_existing=False)
        self.delete(name)
        return saved

    def export(self, name: str) -> str:
        """The profile as TOML, with references to keys and never a key."""
        return profile_text(self.load(name))

    def import_text(self, text: str, name: str | None = None, *, secret_saver: SecretSaver | None = None) -> Profile:
        """Save the profile in `text` (of `export`), under another name if given; a name in use gets a number."""
        profile = _read(parse_toml(text.encode("utf-8", "surrogateescape"), name or "profile"), name or "imported",
                        name or "profile")
        wanted = name or profile.name
        taken = {n.casefold() for n in self.names()}
        unique, count = wanted, 1
        while unique.casefold() in taken:
            count += 1
            unique = f"{wanted} ({count})"
        return self.save(replace(profile, name=unique), secret_saver=secret_saver)

    # The plan that is being worked on, per model

    def _working_path(self, model_identity: str | None, successful: bool) -> Path:
        key = hashlib.sha256((model_identity or "").encode("utf-8", "surrogatepass")).hexdigest()[:24]
        return self.folder / ".working" / f"{key}{'.good' if successful else ''}.toml"

    def save_working(self, model_identity: str | None, plan: Plan, *, successful: bool = False) -> None:
        """Keep what the person is editing (debounced by the caller, and before every launch), without literal keys.

        `successful`: the plan got a server ready; kept apart, so that a later failed try does not replace it.
        """
        table = {"schema_version": SCHEMA, "model_identity": model_identity or "", **plan_table(drop_literals(plan))}
        tables = {k: v for k, v in table.items() if isinstance(v, dict) or k == "settings"}
        atomic_write(self._working_path(model_identity, successful),
                     toml_bytes({**{k: v for k, v in table.items() if k not in tables}, **tables}), backup=False)

    def load_working(self, model_identity: str | None, *, successful: bool = False) -> Plan | None:
        """What was kept, or None (also when the file is damaged: it is only a draft)."""
        path = self._working_path(model_identity, successful)
        try:
            return read_plan(parse_toml(path.read_bytes(), path))
        except (OSError, AppError):
            return None
