"""llama-swap's configuration (YAML): a command for each model, with macros."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from paddock.errors import AppError
from paddock.launch.importing.imported import Form, Imported
from paddock.launch.parsing import parse
from paddock.launch.secret_reference import from_shell, is_key
from paddock.text import Text

_SWAP_KEPT = ("ttl", "aliases", "checkEndpoint", "proxy", "unlisted", "useModelName", "filters", "concurrencyLimit")


def _is_swap(text: str, hint: str) -> bool:
    return all(re.search(pattern, text, re.MULTILINE) for pattern in (r"^models:\s*$", r"^\s+cmd:"))


def _swap(text: str) -> Iterator[Imported]:
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise AppError(Text("The llama-swap file is damaged in line {line}.", line=mark.line + 1 if mark else "?"),
                       why=getattr(error, "problem", None)) from error
    models = found.get("models") if isinstance(found, dict) else None
    if not isinstance(models, dict):
        raise AppError(Text("The llama-swap file lists no models."))
    macros = _macros(found)
    for name, entry in models.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("cmd"), str):
            continue
        own = {**macros, **_macros(entry), "MODEL_ID": str(name)}
        plan = parse(_swap_command(entry["cmd"], own)).without("port")
        pairs = tuple((k, from_shell(v) if is_key(k) else v)
                      for k, _, v in (_filled(str(e), own).partition("=") for e in entry.get("env") or []))
        extra = tuple(f"{key}={_filled(json.dumps(entry[key], ensure_ascii=False), own)}" for key in _SWAP_KEPT
                      if key in entry)
        yield Imported(replace(plan, environment=(*plan.environment, *pairs), extra=(*plan.extra, *extra)), str(name),
                       "llama-swap")


def _macros(table: Mapping[str, Any]) -> dict[str, str]:
    """Those that a file or a model sets; they may be numbers, and true or false, too."""
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in (table.get("macros") or {}).items()}


def _filled(text: str, macros: Mapping[str, str]) -> str:
    """Macros replaced (they may hold others); `${env.NAME}` becomes the shell's own form of that variable."""
    for _ in range(5):
        text = re.sub(r"\$\{([\w.-]+)\}", lambda m: macros.get(m[1], m[0]), text)
    return re.sub(r"\$\{env\.(\w+)\}", r"${\1}", text)


def _swap_command(command: str, macros: Mapping[str, str]) -> str:
    """Macros replaced, comment lines dropped, lines joined; the port is llama-swap's own."""
    command = _filled(command, macros)
    lines = [line.rstrip().removesuffix("\\") for line in command.split("\n") if not line.lstrip().startswith("#")]
    return " ".join(lines).replace("${PORT}", "0")


LLAMA_SWAP = Form(_is_swap, _swap)
