"""Models as values, for the estimate's tests: no file behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paddock.fit.quants import BLOCK_BY_ID
from paddock.gguf import Facts, Kind, ModelFile, Tensor

TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "q4_K": 12, "q6_K": 14}


def _tensor(name: str, shape: Sequence[int], kind: str) -> Tensor:
    block, size = BLOCK_BY_ID[TYPES[kind]]
    count = 1
    for extent in shape:
        count *= extent
    return Tensor(name, tuple(shape), TYPES[kind], kind, 0, count // block * size, 0)


def make_model(
    arch: str, keys: Mapping[str, Any], tensors: Sequence[tuple[str, Sequence[int], str]], complete: bool = True
) -> ModelFile:
    """A model that exists only as a value; `keys` are the architecture's, without its name."""
    metadata = {"general.architecture": arch, **{f"{arch}.{k}": v for k, v in keys.items()}}
    made = tuple(_tensor(*t) for t in tensors)
    identity = f"{arch}{sorted(metadata.items(), key=str)}{made}"
    return ModelFile(Path("model.gguf"), 3, arch, Kind.MODEL, metadata, made, (), Facts(), (), complete, identity)


def llama_tensors(
    layers: int,
    width: int,
    ff: int,
    heads: int,
    kv: int,
    head: int,
    vocabulary: int,
    tied: bool = False,
    kind: str = "q8_0",
) -> list[tuple[str, Sequence[int], str]]:
    out: list[tuple[str, Sequence[int], str]] = [
        ("token_embd.weight", (width, vocabulary), kind),
        ("output_norm.weight", (width,), "f32"),
    ]
    if not tied:
        out.append(("output.weight", (width, vocabulary), kind))
    for i in range(layers):
        out += [
            (f"blk.{i}.attn_norm.weight", (width,), "f32"),
            (f"blk.{i}.ffn_norm.weight", (width,), "f32"),
            (f"blk.{i}.attn_q.weight", (width, heads * head), kind),
            (f"blk.{i}.attn_k.weight", (width, kv * head), kind),
            (f"blk.{i}.attn_v.weight", (width, kv * head), kind),
            (f"blk.{i}.attn_output.weight", (heads * head, width), kind),
            (f"blk.{i}.ffn_gate.weight", (width, ff), kind),
            (f"blk.{i}.ffn_up.weight", (width, ff), kind),
            (f"blk.{i}.ffn_down.weight", (ff, width), kind),
        ]
    return out


LLAMA_KEYS: dict[str, Any] = {
    "block_count": 8,
    "embedding_length": 1024,
    "feed_forward_length": 2048,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
    "context_length": 32768,
}
