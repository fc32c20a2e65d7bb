"""From a list of file names to what a person chooses from: quantisations, with their parts; projectors; the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from paddock.gguf import Kind
from paddock.gguf.kinds import kind_by_name
from paddock.gguf.splits import plain_stem, shard_name
from paddock.library.hub.model import Choice, RemoteFile

_QUANT = re.compile(
    r"(?:^|[-_. /])((?:UD-)?(?:(?:I?Q|TQ)\d(?:_[A-Z0-9]+)*|MXFP4(?:_MOE)?|NVFP4|BF16|FP?16|FP?32))(?=$|[-_. /])",
    re.IGNORECASE)


def grouped(files: Iterable[RemoteFile]) -> tuple[tuple[Choice, ...], tuple[Choice, ...]]:
    """(models by size, what goes with them); files that are no GGUF are left out."""
    sets: dict[object, list[RemoteFile]] = {}
    for file in files:
        if not file.path.lower().endswith(".gguf"):
            continue
        part = shard_name(Path(file.path))
        whole = part is None or not part.plausible or part.count == 1
        key: object = file.path if whole or part is None else (str(part.folder), part.prefix.lower(), part.count)
        sets.setdefault(key, []).append(file)
    found = [_choice(members) for members in sets.values()]
    models = _told_apart([c for c in found if c.kind in (Kind.MODEL, Kind.EMBEDDING, Kind.RERANKER)])
    others = _told_apart([c for c in found if c.kind not in (Kind.MODEL, Kind.EMBEDDING, Kind.RERANKER)])
    return tuple(sorted(models, key=lambda c: (c.size_bytes or 0, c.label))), tuple(others)


def _choice(members: Sequence[RemoteFile]) -> Choice:
    files = tuple(sorted(members, key=lambda f: f.path))
    part = shard_name(Path(files[0].path))
    missing = part.count - len(files) if part is not None and part.plausible else 0
    quant = quant_label(files[0].path)
    return Choice(quant, files, kind_by_name(files[0].name), quant, missing)


def quant_label(path: str) -> str:
    """The last quantisation that the name (or, if it has none, its folder) names; else the name without its ending."""
    file = Path(path)
    stem = plain_stem(file)
    for text in (stem, file.parent.name):
        named = _QUANT.findall(text)
        if named:
            label: str = named[-1].upper()
            return {"FP16": "F16", "FP32": "F32"}.get(label, label)
    return stem


def _told_apart(choices: list[Choice]) -> list[Choice]:
    """Two with one label get their names instead; two with one name their folders too."""
    labels = Counter(c.label for c in choices)
    named = [c if labels[c.label] < 2 else replace(c, label=plain_stem(Path(c.files[0].path)))
             for c in choices]
    again = Counter(c.label for c in named)
    return [c if again[c.label] < 2 else replace(c, label=c.files[0].path) for c in named]
