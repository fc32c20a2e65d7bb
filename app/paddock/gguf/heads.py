"""Attention heads per layer: from the metadata, else from the shapes of the tensors, else not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.gguf.layers import block_of, per_layer, whole
from paddock.gguf.model import Problem, Tensor
from paddock.text import Text

_WHOLE_HEAD_ROPE = frozenset({"llama", "mistral3", "qwen2", "qwen2moe", "gemma", "gemma2"})
"""Architectures whose rope.dimension_count is always the whole head."""


@dataclass(frozen=True)
class Heads:
    """Per-layer heads and the lengths of a key and a value in one head; None where it cannot be told."""

    heads: tuple[int, ...] | None = None
    kv_heads: tuple[int, ...] | None = None
    key_length: int | None = None
    value_length: int | None = None


def heads_of(architecture: str | None, metadata: Mapping[str, Any], layers: int | None, tensors: Sequence[Tensor],
             problems: list[Problem]) -> Heads:
    """Stored values first; llama.cpp's defaults next (kv = heads, length = embedding / heads); shapes last."""
    def get(key: str) -> Any:
        return metadata.get(f"{architecture}.{key}")

    key = whole(get("attention.key_length")) or None
    value = whole(get("attention.value_length")) or None
    heads = _whole_numbers(per_layer(get("attention.head_count"), layers))
    kv_heads = _whole_numbers(per_layer(get("attention.head_count_kv"), layers))
    if heads is None or get("attention.head_count_kv") is None:
        rows = _Rows(tensors, layers or 0)
        length = key or rows.head_length() or _default_length(get, heads) or _rope_length(architecture, get)
        if heads is None:
            heads = rows.heads("attn_q", length)
            _tell(problems, heads, rows.any_attention)
        if get("attention.head_count_kv") is None:
            kv_heads = rows.heads("attn_k", length) or heads
        key = key or (length if heads else None)
    default = _default_length(get, heads)
    return Heads(heads, kv_heads, key or default, value or default or key)


def _whole_numbers(values: tuple[Any, ...] | None) -> tuple[int, ...] | None:
    if values and type(values[0]) is int and values.count(values[0]) == len(values):
        return (values[0],) * len(values)
    numbers = None if values is None else tuple(whole(v) for v in values)
    return None if numbers is None or None in numbers else tuple(n for n in numbers if n is not None)


def _default_length(get: Any, heads: tuple[int, ...] | None) -> int | None:
    """llama.cpp: embedding_length / head_count of the first layer."""
    embedding = whole(get("embedding_length"))
    return embedding // heads[0] if embedding and heads and heads[0] > 0 else None


def _rope_length(architecture: str | None, get: Any) -> int | None:
    return whole(get("rope.dimension_count")) or None if architecture in _WHOLE_HEAD_ROPE else None


def _tell(problems: list[Problem], heads: tuple[int, ...] | None, any_attention: bool) -> None:
    if heads is not None:
        problems.append(Problem("heads-derived", "hint", Text(
            "attention.head_count is missing; the number of heads was derived from the shapes of the tensors.")))
    elif any_attention:
        problems.append(Problem("heads-unknown", "warning", Text(
            "attention.head_count is missing or cannot be read: the size of the KV cache cannot be told.")))


class _Rows:
    """The output widths of the attention projections, per layer."""

    def __init__(self, tensors: Sequence[Tensor], layers: int) -> None:
        self._layers = layers
        self._shapes: dict[tuple[str, int], tuple[int, ...]] = {}
        self.any_attention = False
        for tensor in tensors:
            block = block_of(tensor.name)
            if block is None or not block[1].startswith("attn"):
                continue
            name = block[1].removesuffix(".weight")
            if name in ("attn_q", "attn_k", "attn_q_norm", "attn_k_norm", "attn_qkv"):
                self._shapes[name, block[0]] = tensor.shape
                self.any_attention = self.any_attention or name in ("attn_q", "attn_k", "attn_qkv")

    def head_length(self) -> int | None:
        """A norm over single heads has the length of a head, unless it spans the whole projection."""
        for (name, layer), shape in self._shapes.items():
            rows = self._shapes.get((name.removesuffix("_norm"), layer))
            if name.endswith("_norm") and len(shape) == 1 and rows and len(rows) == 2 and 0 < shape[0] < rows[1]:
                return shape[0]
        return None

    def heads(self, name: str, length: int | None) -> tuple[int, ...] | None:
        """Heads per layer, 0 where a layer has no such projection; None if no layer has, or it does not divide."""
        shapes = [self._shapes.get((name, layer)) for layer in range(self._layers)]
        widths = [shape[1] if shape and len(shape) == 2 else 0 for shape in shapes]
        if not length or not any(widths) or any(width % length for width in widths):
            return None
        return tuple(width // length for width in widths)
