"""GGUF bytes by hand, from the format's description and not from our reader: metadata, tensors, versions, byte order.

Values are Python values whose type says what is written (int -> u32, float -> f32, bool, str, list of these), or
`typed("u64", 5)`, `typed("i32", [1, 2])` where another type is wanted.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VALUE_IDS = {"u8": 0, "i8": 1, "u16": 2, "i16": 3, "u32": 4, "i32": 5, "f32": 6, "bool": 7, "string": 8, "array": 9,
             "u64": 10, "i64": 11, "f64": 12}
CODES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "?", "u64": "Q",
         "i64": "q", "f64": "d"}
TYPE_IDS = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "q4_K": 12, "q6_K": 14, "bf16": 30}
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 8: (32, 34), 12: (256, 144), 14: (256, 210), 30: (1, 2)}


@dataclass(frozen=True)
class Typed:
    """A value with the GGUF type that it is to be written as."""

    type: str
    value: Any


def typed(kind: str, value: Any) -> Typed:
    return Typed(kind, value)


@dataclass(frozen=True)
class Tensor:
    """A tensor to be written: ne[] innermost first; `size` only for types whose block size is not known here."""

    name: str
    shape: tuple[int, ...]
    type: str | int = "f32"
    size: int | None = None
    offset: int | None = None

    @property
    def type_id(self) -> int:
        return self.type if isinstance(self.type, int) else TYPE_IDS[self.type]

    @property
    def nbytes(self) -> int:
        if self.size is not None:
            return self.size
        elements, width = BLOCKS[self.type_id]
        count = 1
        for extent in self.shape:
            count *= extent
        return count // elements * width


def string(text: str | bytes, order: str = "<") -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(f"{order}Q", len(data)) + data


def value(item: Any, order: str = "<") -> bytes:
    """Type id and value."""
    kind = _type(item)
    raw = item.value if isinstance(item, Typed) else item
    if isinstance(raw, (list, tuple)):
        element = item.type if isinstance(item, Typed) else _type(raw[0])
        body = b"".join(_plain(element, v, order) for v in raw)
        return struct.pack(f"{order}IIQ", VALUE_IDS["array"], VALUE_IDS[element], len(raw)) + body
    return struct.pack(f"{order}I", VALUE_IDS[kind]) + _plain(kind, raw, order)


def _type(item: Any) -> str:
    if isinstance(item, Typed):
        return item.type
    for python, kind in ((bool, "bool"), (int, "u32"), (float, "f32"), (str, "string"), (bytes, "string")):
        if isinstance(item, python):
            return kind
    return "array"


def _plain(kind: str, raw: Any, order: str) -> bytes:
    if kind == "string":
        return string(raw, order)
    if kind == "array":
        return value(raw, order)[4:]
    return struct.pack(order + CODES[kind], raw)


def pad(data: bytes, alignment: int) -> bytes:
    return data + b"\0" * (-len(data) % alignment)


def header(metadata: Mapping[str, Any] | Sequence[tuple[str, Any]] = (), tensors: Sequence[Tensor] = (), *,
           version: int = 3, order: str = "<", alignment: int = 32) -> bytes:
    """Header and tensor table, not padded; offsets are running sums unless a tensor says otherwise."""
    pairs = list(metadata.items()) if isinstance(metadata, Mapping) else list(metadata)
    out = [b"GGUF", struct.pack(f"{order}IQQ", version, len(tensors), len(pairs))]
    out += [string(key, order) + value(item, order) for key, item in pairs]
    offset = 0
    for tensor in tensors:
        place = offset if tensor.offset is None else tensor.offset
        out.append(string(tensor.name, order) + struct.pack(
            f"{order}I{len(tensor.shape)}QIQ", len(tensor.shape), *tensor.shape, tensor.type_id, place))
        offset += -(-tensor.nbytes // alignment) * alignment
    return b"".join(out)


def file(metadata: Mapping[str, Any] | Sequence[tuple[str, Any]] = (), tensors: Sequence[Tensor] = (), *,
         version: int = 3, order: str = "<", alignment: int = 32) -> bytes:
    """A whole file; the weights are a pattern without zeros."""
    head = pad(header(metadata, tensors, version=version, order=order, alignment=alignment), alignment)
    return head + b"".join(pad(b"\x5a" * tensor.nbytes, alignment) for tensor in tensors)


def write(path: Path, metadata: Mapping[str, Any] | Sequence[tuple[str, Any]] = (), tensors: Sequence[Tensor] = (),
          **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file(metadata, tensors, **options))
    return path


def llama(layers: int = 2, *, embedding: int = 64, heads: int = 4, kv_heads: int = 2, vocabulary: int = 32,
          kind: str = "q8_0", architecture: str = "llama", **more: Any) -> tuple[dict[str, Any], list[Tensor]]:
    """Metadata and tensors of a small dense model; `more` are further keys, "__" standing for a dot."""
    metadata: dict[str, Any] = {
        "general.architecture": architecture, "general.name": "Tiny", "general.file_type": 7,
        f"{architecture}.block_count": layers, f"{architecture}.context_length": 4096,
        f"{architecture}.embedding_length": embedding, f"{architecture}.feed_forward_length": 2 * embedding,
        f"{architecture}.attention.head_count": heads, f"{architecture}.attention.head_count_kv": kv_heads,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": [f"<{i}>" for i in range(vocabulary)],
    }
    metadata |= {f"{architecture}.{key.replace('__', '.')}": item for key, item in more.items()}
    kv_width = embedding // heads * kv_heads
    tensors = [Tensor("token_embd.weight", (embedding, vocabulary), kind)]
    for i in range(layers):
        tensors += [
            Tensor(f"blk.{i}.attn_norm.weight", (embedding,)),
            Tensor(f"blk.{i}.attn_q.weight", (embedding, embedding), kind),
            Tensor(f"blk.{i}.attn_k.weight", (embedding, kv_width), kind),
            Tensor(f"blk.{i}.attn_v.weight", (embedding, kv_width), kind),
            Tensor(f"blk.{i}.attn_output.weight", (embedding, embedding), kind),
            Tensor(f"blk.{i}.ffn_norm.weight", (embedding,)),
            Tensor(f"blk.{i}.ffn_gate.weight", (embedding, 2 * embedding), kind),
            Tensor(f"blk.{i}.ffn_up.weight", (embedding, 2 * embedding), kind),
            Tensor(f"blk.{i}.ffn_down.weight", (2 * embedding, embedding), kind),
        ]
    return metadata, [*tensors, Tensor("output_norm.weight", (embedding,)),
                      Tensor("output.weight", (embedding, vocabulary), kind)]


def split(folder: Path, prefix: str, metadata: Mapping[str, Any], groups: Sequence[Sequence[Tensor]]) -> list[Path]:
    """A split set as llama-gguf-split writes it: metadata in the first part, split.* in all."""
    total = sum(len(group) for group in groups)
    paths = []
    for number, group in enumerate(groups):
        keys: dict[str, Any] = dict(metadata) if number == 0 else {}
        keys |= {"split.no": typed("u16", number), "split.count": typed("u16", len(groups)),
                 "split.tensors.count": typed("i32", total)}
        paths.append(write(folder / f"{prefix}-{number + 1:05d}-of-{len(groups):05d}.gguf", keys, group))
    return paths
