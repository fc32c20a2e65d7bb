"""Makers of small engines and model files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paddock.engine.model import EngineOption
from paddock.gguf.model import Facts, Kind, ModelFile, Problem, Shard, Tensor

GIB = 1 << 30


def option(*names: str, negations: tuple[str, ...] = (), count: int = 1, default: str | None = None,
           removed: bool = False, replacement: str | None = None, choices: tuple[str, ...] = ()) -> EngineOption:
    """One entry of a help text."""
    return EngineOption(names=names, negations=negations, hint="N" if count else None, value_count=count,
                        choices=choices, default=default, env=None, section="common", help="", removed=removed,
                        replacement=replacement)


def model_file(path: str = "/m/a.gguf", kind: Kind = Kind.MODEL, architecture: str = "llama",
               metadata: dict[str, Any] | None = None, tensors: tuple[str, ...] = (), parts: int = 1,
               problems: tuple[Problem, ...] = (), complete: bool = True, **facts: Any) -> ModelFile:
    """A model file that holds what a test needs and nothing else."""
    shards = tuple(Shard(Path(path.replace("00001", f"{n:05d}")), n, GIB, 0, 1, GIB) for n in range(1, parts + 1))
    return ModelFile(
        path=Path(path), version=3, architecture=architecture, kind=kind, metadata=metadata or {},
        tensors=tuple(Tensor(name, (32,), 0, "f32", 0, 128, 1) for name in tensors), shards=shards,
        facts=Facts(**{"has_template": kind is Kind.MODEL, **facts}), problems=problems, complete=complete,
        identity="0" * 64)
