"""What a file is for: its metadata first, its name second."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paddock.gguf.architectures import DRAFT, EMBEDDING
from paddock.gguf.layers import block_of, whole
from paddock.gguf.model import Kind

POOLING = ("none", "mean", "cls", "last", "rank")
"""{architecture}.pooling_type as llama.cpp numbers it."""

_BY_TYPE = {"mmproj": Kind.PROJECTOR, "clip-vision": Kind.PROJECTOR, "adapter": Kind.ADAPTER,
            "imatrix": Kind.IMATRIX, "vocab": Kind.VOCAB}
_SCORE_HEADS = frozenset({"cls.weight", "cls.output.weight"})
_PROJECTOR_NAME = re.compile(r"mmproj", re.IGNORECASE)
_DRAFT_NAME = re.compile(r"(?:^|[-_. ])(?:draft|drafter|eagle3?|assistant|mtp)(?:[-_. ]|$)", re.IGNORECASE)
_RERANKER_NAME = re.compile(r"re-?rank", re.IGNORECASE)
_EMBEDDING_NAME = re.compile(r"(?:^|[-_. ])(?:embed|embedding|embeddings)(?:[-_. ]|\d|$)", re.IGNORECASE)


def pooling(architecture: str | None, metadata: Mapping[str, Any]) -> str | None:
    """The pooling that the file asks for, in llama.cpp's word, or None."""
    number = whole(metadata.get(f"{architecture}.pooling_type"))
    return POOLING[number] if number is not None and 0 <= number < len(POOLING) else None


def only_prediction_layers(architecture: str | None, metadata: Mapping[str, Any],
                           tensor_names: frozenset[str]) -> bool:
    """Whether the file has the layers that predict further tokens (MTP) and none of the model's own: a sidecar."""
    own = whole(metadata.get(f"{architecture}.nextn_predict_layers")) or 0
    layers = whole(metadata.get(f"{architecture}.block_count")) or 0
    if own <= 0:
        return False
    blocks = {block[0] for name in tensor_names if (block := block_of(name)) is not None}
    return bool(blocks) and layers >= own and min(blocks) >= layers - own and layers > own


def kind_of(path: Path, architecture: str | None, metadata: Mapping[str, Any], tensor_names: frozenset[str]) -> Kind:
    """The kind; a file that says nothing of itself is a model."""
    declared = _declared(architecture, metadata, tensor_names)
    if declared is not None:
        return declared
    pooled = pooling(architecture, metadata)
    if pooled == "rank":
        return Kind.RERANKER
    if architecture in EMBEDDING:
        # A classification head on an encoder gives one score per text, which is what reranking is.
        scores = not tensor_names.isdisjoint(_SCORE_HEADS) or _RERANKER_NAME.search(path.name)
        return Kind.RERANKER if scores else Kind.EMBEDDING
    if pooled in ("mean", "cls", "last"):
        return Kind.EMBEDDING
    return _by_name(path, architecture, metadata)


def _declared(architecture: str | None, metadata: Mapping[str, Any], tensor_names: frozenset[str]) -> Kind | None:
    named = _BY_TYPE.get(str(metadata.get("general.type", "")).lower())
    if named is not None:
        return named
    if architecture == "clip" or any(k.startswith("clip.") for k in metadata):
        return Kind.PROJECTOR
    if architecture == "controlvector" or "adapter.type" in metadata:
        return Kind.ADAPTER
    if architecture == "imatrix" or any(k.startswith("imatrix.") for k in metadata):
        return Kind.IMATRIX
    if architecture is not None and (architecture in DRAFT or architecture.endswith("-assistant")):
        return Kind.DRAFT
    if only_prediction_layers(architecture, metadata, tensor_names):
        return Kind.DRAFT
    if not tensor_names and "tokenizer.ggml.tokens" in metadata and (whole(metadata.get("split.count")) or 1) <= 1:
        return Kind.VOCAB
    return None


def kind_by_name(name: str) -> Kind:
    """The kind as far as a file's name tells, for files that are not here to be read."""
    return _by_name(Path(name), None, {})


def _by_name(path: Path, architecture: str | None, metadata: Mapping[str, Any]) -> Kind:
    name = f"{path.name} {metadata.get('general.name', '')}"
    if architecture is None and _PROJECTOR_NAME.search(path.name):
        return Kind.PROJECTOR
    if _RERANKER_NAME.search(name):
        return Kind.RERANKER
    if _EMBEDDING_NAME.search(name):
        return Kind.EMBEDDING
    if _DRAFT_NAME.search(path.name):
        return Kind.DRAFT
    return Kind.MODEL
