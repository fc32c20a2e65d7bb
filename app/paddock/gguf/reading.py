"""gguf.read: from any file of a model to the whole model."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from paddock.gguf.complete import file_problems, side_file_problem, zero_tail
from paddock.gguf.facts import facts_of
from paddock.gguf.kinds import kind_of
from paddock.gguf.model import ModelFile, Problem
from paddock.gguf.opening import can_be_a_name, header_of
from paddock.gguf.shards import Part, ShardSet, present, shard_set
from paddock.gguf.splits import split_keys
from paddock.gguf.tensors import table
from paddock.gguf.window import Source

_SEVERITIES = ("error", "warning", "hint")


class Cache(Protocol):
    """Where models are kept between runs; `get` answers only if no file has changed since.

    `put` returns the model to go on with: an equal one.
    """

    def get(self, path: Path) -> ModelFile | None: ...
    def put(self, path: Path, model: ModelFile) -> ModelFile: ...


def read(path: str | os.PathLike[str], *, cache: Cache | None = None) -> ModelFile:
    """The model that this file is, or is a part of. Reads headers and tensor tables, never the weights.

    A part that is missing itself is answered from the others. AppError(what, why, hint) where no header can be read;
    everything else that is wrong is in `problems`.
    """
    picked = present(_absolute(path))
    model = cache.get(picked) if cache is not None and can_be_a_name(picked) else None
    if model is None:
        model = _model(shard_set(picked))
        if cache is not None:
            model = cache.put(picked, model)
    # Files beside the model come and go while it stays the same, so they are looked up each time.
    unfinished = side_file_problem(model.shards)
    if unfinished is not None:
        model = replace(model, problems=(unfinished, *model.problems), complete=False)
    return model


def _absolute(path: str | os.PathLike[str]) -> Path:
    whole = os.path.abspath(path)
    return path if isinstance(path, Path) and str(path) == whole else Path(whole)


def read_sources(sources: Sequence[tuple[str, Source, int]]) -> ModelFile:
    """The model whose parts are these (name, bytes to read from, size in bytes), none of which lies on a disk here.

    Reads headers and tensor tables only. AppError where one cannot be read; parts that are not given are missing.
    """
    parts: dict[int, Part] = {}
    count = len(sources)
    for place, (name, source, size) in enumerate(sources, 1):
        header = header_of(source, size, Path(name))
        keys = split_keys(header.metadata)
        number = place if keys.number is None or keys.count is None else keys.number + 1
        count = max(count, keys.count or 1)
        parts[number] = Part(header, table(header, number))
    first = Path(sources[0][0])
    paths = {n: parts[n].header.path if n in parts else first for n in range(1, count + 1)}
    complete = len(parts) == count
    return _model(ShardSet(parts, paths, complete), remote=True)


def _model(found: ShardSet, remote: bool = False) -> ModelFile:
    parts = found.parts.values()
    first = found.first
    tensors = tuple(tensor for part in parts for tensor in part.table.tensors)
    stored = first.metadata.get("general.architecture")
    architecture = stored if isinstance(stored, str) and stored else None
    kind = kind_of(found.path, architecture, first.metadata, frozenset(t.name for t in tensors))
    facts, oddities = facts_of(found.path, architecture, kind, first.metadata, tensors)
    if min(found.parts) != min(found.paths):
        oddities = []  # Only the first file says what the model is, and it is missing; that alone is worth saying.
    problems, whole = file_problems(parts, remote)
    if any(p.id == "joined-shards" for p in problems):
        # Then the other parts are here, and a name would not help.
        oddities += [p for p in found.problems if p.id != "renamed-shard"]
    else:
        oddities += found.problems
    hollow = zero_tail(parts) if whole and not remote else None
    return ModelFile(
        path=found.path, version=first.version, architecture=architecture, kind=kind, metadata=first.metadata,
        tensors=tensors, shards=found.shards(), facts=facts,
        problems=_sorted([*problems, *oddities, *([hollow] if hollow else [])]),
        complete=found.complete and whole, identity=_identity(parts),
        mtime_ns=max(part.header.mtime_ns for part in parts))


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Worst first, each once (parts of one model often share a problem)."""
    unique: list[Problem] = []
    for problem in problems:
        if problem not in unique:
            unique.append(problem)
    return tuple(sorted(unique, key=lambda p: _SEVERITIES.index(p.severity)))


def _identity(parts: Iterable[Part]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{part.header.digest} {part.header.size_bytes}\n".encode())
    return digest.hexdigest()
