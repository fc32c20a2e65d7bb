"""What the person chose once for all: settings.toml. Only what differs from the defaults is written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec

from paddock.errors import AppError
from paddock.store.files import BACKUP, atomic_write, copy_aside, parse_toml, set_aside, sweep, toml_bytes
from paddock.store.locking import locked
from paddock.text import Text

SCHEMA = 1


class Settings(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Every field has a default that may get better in a later version, hence is not written while it holds."""

    schema_version: int = SCHEMA
    language: str = ""
    """ "en", "it"; empty: the system's."""
    theme: str = "system"
    """system, light, dark."""
    font_scale: float = 1.0
    engine_paths: list[str] = []
    rpc_hosts: list[str] = []
    """HOST:PORT of RPC servers, kept; none is asked before a person or a plan wants it."""
    default_engine: str = ""
    """Path or name; empty: the first that answers."""
    model_folders: list[str] = []
    additions_off: list[str] = []
    """Ids of `launch.Addition`s that are switched off."""
    recent_models: list[str] = []
    last_profile: str = ""
    dock_folded: dict[str, bool] = {}
    """By page name."""
    follow_plots: bool = True
    opengl_plots: bool = False
    keep_sessions_days: int = 0
    """0: for ever."""
    keep_sessions_mib: int = 0
    """The database's size; 0: no limit."""
    log_cap_mib: int = 64
    keep_serving: bool = False
    restart_limit: int = 0
    confirm_stop: bool = True
    poll_slots: bool = True
    correct_estimates: bool = True
    """Estimates take over what earlier launches of the model showed beyond the band; always said in a note."""
    hugging_face_token: str = ""
    """A reference (keyring:, env:, file:), never the token."""
    download_folder: str = ""
    """Where models from Hugging Face go; empty: the folder "models" beside the settings."""
    projector_of: dict[str, str] = {}
    """What the person chose to go with a model, by its identity: a path, or "" for none on purpose."""
    draft_of: dict[str, str] = {}

    def with_recent(self, model: str, keep: int = 12) -> list[str]:
        """The list of recent models with this one first."""
        return [model, *(m for m in self.recent_models if m != model)][:keep]


def load_settings(path: Path) -> tuple[Settings, list[Text]]:
    """The settings, and what a person should know about the file. Never fails: at worst the defaults.

    A damaged file is set aside as `*.broken-<time>` and the last good copy used; a value of the wrong type falls
    back alone.
    """
    notices: list[Text] = []
    table = _read(path, notices)
    if table is None:
        return Settings(), notices
    version = table.get("schema_version", SCHEMA)
    if isinstance(version, int) and version > SCHEMA:
        notices.append(Text("The settings were saved by a newer Paddock (form {theirs}, ours is {ours}): what this "
                            "version does not know is kept but not used.", theirs=version, ours=SCHEMA))
    values, wrong = _values(table)
    notices += [Text("Setting “{name}” is not usable ({why}); its default is used.", name=name, why=error)
                for name, error in wrong]
    if wrong:
        try:
            copy_aside(path)
        except AppError as error:
            notices.append(Text("{what} The file as it was is lost with the next change.", what=error))
    return Settings(**values), notices


def _read(path: Path, notices: list[Text]) -> dict[str, Any] | None:
    try:
        return parse_toml(path.read_bytes(), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        notices.append(Text("The settings could not be read ({why}): defaults are used.", why=error.strerror or error))
        return None
    except AppError as error:
        return _last_good(path, error, notices)


def _last_good(path: Path, error: AppError, notices: list[Text]) -> dict[str, Any] | None:
    """The copy before the last save, if that can be read; the damaged file is set aside where the folder lets us."""
    backup = path.with_name(path.name + BACKUP)
    table: dict[str, Any] | None
    try:
        table = parse_toml(backup.read_bytes(), backup)
    except (OSError, AppError):
        table = None
    used = Text("the defaults are used") if table is None else Text("the last good copy is used")
    try:
        aside = set_aside(path)
        if table is not None:
            shutil.copyfile(backup, path)
    except OSError as failed:
        notices.append(Text("{what} It could not be set aside ({why}): {used}.", what=error,
                            why=failed.strerror or failed, used=used))
        return table
    notices.append(Text("{what} It is kept as “{aside}”; {used}.", what=error, aside=aside.name, used=used))
    return table


def save_settings(path: Path, settings: Settings, loaded: Settings | None = None) -> None:
    """Write atomically; AppError as `atomic_write`. Keys of the file that this version does not know stay.

    `loaded`: the settings as they were read. What was not changed since then is left as another Paddock may have
    written it, and of lists and tables only what was added or taken out is.
    """
    with locked(path.parent) as held:
        if held:
            sweep(path.parent, path.name)
        try:
            old = parse_toml(path.read_bytes(), path)
        except (OSError, AppError):
            old = {}
        known = {info.name for info in msgspec.structs.fields(Settings)}
        table: dict[str, Any] = {k: v for k, v in old.items() if k not in known}
        table |= msgspec.to_builtins(settings if loaded is None else _joined(settings, loaded, old))
        version = old.get("schema_version")
        table["schema_version"] = max(SCHEMA, version) if isinstance(version, int) else SCHEMA
        plain = {k: v for k, v in table.items() if not isinstance(v, dict)}
        atomic_write(path, toml_bytes({**plain, **{k: v for k, v in table.items() if isinstance(v, dict)}}))


def _joined(settings: Settings, loaded: Settings, old: dict[str, Any]) -> Settings:
    """The file's settings with what was changed here since `loaded`."""
    theirs, _ = _values(old)
    out: dict[str, Any] = {}
    for info in msgspec.structs.fields(Settings):
        mine, base = getattr(settings, info.name), getattr(loaded, info.name)
        there = theirs.get(info.name, getattr(Settings(), info.name))
        if mine == base:
            out[info.name] = there
        elif isinstance(mine, list):
            kept = [one for one in there if one in mine or one not in base]
            # What is in both stands in our order, what only they added comes behind.
            out[info.name] = [*(one for one in mine if one in kept or one not in base),
                              *(one for one in kept if one not in mine)]
        elif isinstance(mine, dict):
            gone = base.keys() - mine.keys()
            out[info.name] = {**{k: v for k, v in there.items() if k not in gone},
                              **{k: v for k, v in mine.items() if k not in base or base[k] != v}}
        else:
            out[info.name] = mine
    return Settings(**out)


def _values(table: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, msgspec.ValidationError]]]:
    """The fields of a table that are usable, and those that are not."""
    values: dict[str, Any] = {}
    wrong = []
    for info in msgspec.structs.fields(Settings):
        if info.name not in table:
            continue
        try:
            values[info.name] = msgspec.convert(table[info.name], info.type)
        except msgspec.ValidationError as error:
            wrong.append((info.name, error))
    return values, wrong
