"""The values that a GGUF file becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from paddock.text import Text


class Kind(StrEnum):
    """What the file is for, from metadata first, names second."""

    MODEL = "model"
    EMBEDDING = "embedding"
    RERANKER = "reranker"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    DRAFT = "draft"
    IMATRIX = "imatrix"
    VOCAB = "vocab"


class Tensor(NamedTuple):
    """One row of the tensor table. `shape` is ne[], innermost first, always as stored (1 to 4 numbers).

    A tuple, because a scan of a library makes a quarter of a million of them.
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    type_name: str
    """"q4_K", or "type 156" for an id this program does not know."""
    offset: int
    """Bytes from the start of that shard's data section."""
    nbytes: int | None
    """From type and shape; for an unknown type from the gap to the next offset; None if neither tells."""
    shard: int


@dataclass(frozen=True)
class Shard:
    """One file of a model. For a missing shard `size_bytes` is None."""

    path: Path
    number: int
    size_bytes: int | None
    data_start: int | None
    tensor_count: int | None
    expected_bytes: int | None
    """Data start plus the last tensor's end; larger than size_bytes means truncated."""


@dataclass(frozen=True)
class Problem:
    """Something a person should know. `severity`: "error" (llama.cpp will refuse it), "warning", "hint"."""

    id: str
    severity: str
    text: Text


@dataclass(frozen=True)
class Facts:
    """Derived from metadata and tensors; None where it cannot be told. Per-layer facts have length `layers`."""

    name: str | None = None
    """general.name, else from the file name."""
    size_label: str | None = None
    quant: str | None = None
    """The label people know ("Q4_K_M"): general.file_type, else the dominant tensor type."""
    parameters: int | None = None
    bits_per_weight: float | None = None
    layers: int | None = None
    """block_count as stored, MTP blocks included."""
    nextn_layers: int = 0
    embedding: int | None = None
    heads: tuple[int, ...] | None = None
    kv_heads: tuple[int, ...] | None = None
    key_length: int | None = None
    value_length: int | None = None
    trained_context: int | None = None
    experts: int | None = None
    experts_used: int | None = None
    sliding_window: int | None = None
    vocabulary: int | None = None
    has_template: bool = False
    template_has_tools: bool = False
    pooling: str | None = None
    quant_mix: tuple[tuple[str, int], ...] = ()
    """(type name, bytes), largest first."""
    layer_bytes: tuple[Mapping[str, int], ...] = ()
    """Per block: {"attention": …, "experts": …, "ffn": …, "other": …} bytes."""
    input_bytes: int = 0
    output_bytes: int = 0


@dataclass(frozen=True)
class ModelFile:
    """One model as it lies on disk. `path` is the first shard: what belongs in argv after -m.

    `metadata` maps keys to scalars; arrays longer than 4,096 or under tokenizer.* appear as `LazyArray`
    (element type and length; `.read()` loads them).
    """

    path: Path
    version: int
    architecture: str | None
    kind: Kind
    metadata: Mapping[str, Any]
    tensors: tuple[Tensor, ...]
    shards: tuple[Shard, ...]
    facts: Facts
    problems: tuple[Problem, ...]
    complete: bool
    """False: shards are missing or bytes are missing; all totals are lower bounds."""
    identity: str
    """SHA-256 (hex) over header and tensor table of all present shards, and their sizes."""
    mtime_ns: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            """The tensors of a kept model are unpacked when they are first asked for (see `kept_model`)."""
            if name != "tensors" or "_unpack" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.__dict__["tensors"] = found = self.__dict__["_unpack"]()
            return found

    @cached_property
    def size_bytes(self) -> int:
        """Bytes on disk over all present shards."""
        return sum(s.size_bytes or 0 for s in self.shards)

    @cached_property
    def tensor_bytes(self) -> int:
        """Bytes of all tensors whose size is known."""
        return sum(t.nbytes or 0 for t in self.tensors)

    @cached_property
    def by_name(self) -> Mapping[str, Tensor]:
        return {t.name: t for t in self.tensors}

    def value(self, key: str, default: Any = None) -> Any:
        """Metadata under `{architecture}.{key}`, else under `key` itself, else the default."""
        found = self.metadata.get(f"{self.architecture}.{key}")
        return found if found is not None else self.metadata.get(key, default)


def kept_model(unpack: Callable[[], tuple[Tensor, ...]], **fields: Any) -> ModelFile:
    """A model whose tensors are unpacked when they are first asked for: a list of a thousand models needs none."""
    model = ModelFile(tensors=(), **fields)
    del model.__dict__["tensors"]
    model.__dict__["_unpack"] = unpack
    return model
