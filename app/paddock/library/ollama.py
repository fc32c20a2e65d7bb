"""Ollama's store: manifests name the models, blobs (named by their hash) hold them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LAYERS = {"application/vnd.ollama.image.model", "application/vnd.ollama.image.projector",
           "application/vnd.ollama.image.adapter"}
_LARGEST_MANIFEST = 1 << 20


@dataclass(frozen=True)
class Blob:
    """A file of a named model; several names may share one blob."""

    path: Path
    name: str


def is_store(folder: Path) -> bool:
    """Whether this folder is Ollama's (it has both parts)."""
    return (folder / "manifests").is_dir() and (folder / "blobs").is_dir()


def blobs(store: Path) -> Iterator[Blob]:
    """Every model, projector and adapter that a manifest names, then the blobs whose download is not finished."""
    manifests = store / "manifests"
    for folder, below, files in os.walk(manifests):
        below.sort()
        for file in sorted(files):
            yield from _layers(store, Path(folder, file), manifests)
    try:
        names = sorted(os.listdir(store / "blobs"))
    except OSError:
        return
    for name in names:
        if name.startswith("sha256-") and name.endswith("-partial"):
            yield Blob(store / "blobs" / name, name)


def _layers(store: Path, manifest: Path, root: Path) -> Iterator[Blob]:
    try:
        if manifest.stat().st_size > _LARGEST_MANIFEST:
            return
        content = json.loads(manifest.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError):
        return
    layers = content.get("layers") if isinstance(content, dict) else None
    for layer in layers if isinstance(layers, list) else ():
        digest = layer.get("digest") if isinstance(layer, dict) and layer.get("mediaType") in _LAYERS else None
        # The digest becomes a file name, so it must be one.
        if isinstance(digest, str) and digest.replace(":", "").isalnum():
            yield Blob(store / "blobs" / digest.replace(":", "-"), _name(manifest.relative_to(root).parts))


def _name(parts: tuple[str, ...]) -> str:
    """registry.ollama.ai/library/llama3/8b -> "llama3:8b"; other owners and registries stay in the name."""
    *place, tag = parts
    if place[:1] in (["registry.ollama.ai"], ["ollama.com"]):
        place = place[1:]
    if place[:1] == ["library"]:
        place = place[1:]
    return f"{'/'.join(place)}:{tag}"
