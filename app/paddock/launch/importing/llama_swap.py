"""llama-swap's configuration (YAML): a command for each model, with macros."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from paddock.errors import AppError
from paddock.launch.importing.imported import Form, Imported
from paddock.launch.parsing import parse
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
    macros = {str(k): str(v) for k, v in (found.get("macros") or {}).items()}
    for name, entry in models.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("cmd"), str):
            continue
        own = {**macros, **{str(k): str(v) for k, v in (entry.get("macros") or {}).items()}, "MODEL_ID": str(name)}
        plan = parse(_swap_command(entry["cmd"], own)).without("port")
        pairs = tuple((k, v) for k, _, v in (str(e).partition("=") for e in entry.get("env") or []))
        extra = tuple(f"{key}={json.dumps(entry[key], ensure_ascii=False)}" for key in _SWAP_KEPT if key in entry)
        yield Imported(replace(plan, environment=(*plan.environment, *pairs), extra=(*plan.extra, *extra)), str(name),
                       "llama-swap")


def _swap_command(command: str, macros: Mapping[str, str]) -> str:
    """Macros replaced (they may hold others), comment lines dropped, lines joined; the port is llama-swap's own."""
    for _ in range(5):
        command = re.sub(r"\$\{([\w.-]+)\}", lambda m: macros.get(m[1], m[0]), command)
    lines = [line.rstrip().removesuffix("\\") for line in command.split("\n") if not line.lstrip().startswith("#")]
    return " ".join(lines).replace("${PORT}", "0")


LLAMA_SWAP = Form(_is_swap, _swap)
