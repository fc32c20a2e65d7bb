"""The facts that people ask for, derived from metadata and tensors. What cannot be told stays None."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from paddock.gguf.architectures import ARCHITECTURES
from paddock.gguf.arrays import LazyArray
from paddock.gguf.heads import Heads, heads_of
from paddock.gguf.kinds import pooling
from paddock.gguf.layers import MOST_LAYERS, block_of, per_layer, whole
from paddock.gguf.model import Facts, Kind, Problem, Tensor
from paddock.gguf.splits import plain_stem
from paddock.gguf.types import FILE_TYPES
from paddock.text import Text

_INPUT = frozenset({"token_embd", "position_embd", "token_types", "per_layer_token_embd"})
_NEITHER = frozenset({"token_embd_norm", "per_layer_model_proj", "per_layer_proj_norm", "hrm", "rope_freqs",
                      "rope_factors_long", "rope_factors_short"})
"""Outside the blocks, but kept with layers (memory placement of llama.cpp 11434)."""
_PER_LAYER_KEYS = ("feed_forward_length", "attention.head_count", "attention.head_count_kv", "expert_used_count",
                   "expert_feed_forward_length", "attention.recurrent_layers")
_TOOLS = re.compile(r"\btools\b|\btool_calls\b")
_UNQUANTISED = ("F32", "F16", "BF16")
_GUESSED = 1024


class _Values:
    """Metadata seen through the architecture's prefix."""

    def __init__(self, architecture: str | None, metadata: Mapping[str, Any]) -> None:
        self.architecture = architecture
        self.metadata = metadata

    def get(self, key: str) -> Any:
        return self.metadata.get(f"{self.architecture}.{key}")

    def number(self, key: str) -> int | None:
        """A whole number; 0 means "absent" to llama.cpp for these keys."""
        return whole(self.get(key)) or None


def facts_of(path: Path, architecture: str | None, kind: Kind, metadata: Mapping[str, Any], tensors: Sequence[Tensor],
             ) -> tuple[Facts, list[Problem]]:
    """Facts, and what was odd on the way."""
    values = _Values(architecture, metadata)
    problems = _architecture_problems(architecture, kind)
    layers = _layers(values, tensors, problems)
    heads = Heads() if kind is Kind.PROJECTOR else heads_of(architecture, metadata, layers, tensors, problems)
    _check_lengths(values, layers, problems)
    parameters, sized = _counts(tensors)
    mix = _quant_mix(tensors)
    template, tools = _template(metadata)
    placed, input_bytes, output_bytes = _placed(tensors, layers or 0, kind)
    used = values.get("expert_used_count")
    return Facts(
        name=_text(metadata.get("general.name")) or plain_stem(path),
        size_label=_text(metadata.get("general.size_label")),
        quant=_quant(metadata, mix),
        parameters=parameters or None,
        bits_per_weight=8 * sized[0] / sized[1] if sized[1] else None,
        layers=layers,
        nextn_layers=values.number("nextn_predict_layers") or 0,
        embedding=values.number("embedding_length"),
        heads=heads.heads, kv_heads=heads.kv_heads, key_length=heads.key_length, value_length=heads.value_length,
        trained_context=values.number("context_length"),
        experts=values.number("expert_count"),
        experts_used=max(used) if isinstance(used, tuple) and used else values.number("expert_used_count"),
        sliding_window=values.number("attention.sliding_window"),
        vocabulary=_vocabulary(values, tensors),
        has_template=template, template_has_tools=tools,
        pooling=pooling(architecture, metadata),
        quant_mix=mix, layer_bytes=placed, input_bytes=input_bytes, output_bytes=output_bytes,
    ), problems


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _architecture_problems(architecture: str | None, kind: Kind) -> list[Problem]:
    if architecture is None:
        if kind in (Kind.IMATRIX, Kind.ADAPTER):
            return []
        return [Problem("no-architecture", "error", Text(
            "general.architecture is missing: llama.cpp cannot tell what to build from the tensors."))]
    if architecture in ARCHITECTURES or kind in (Kind.IMATRIX, Kind.ADAPTER):
        return []
    return [Problem("unknown-architecture", "warning", Text(
        "The architecture “{name}” is not one that this program knows: this llama.cpp may not load it, and the "
        "estimate is rough.", name=architecture[:80]))]


def _layers(values: _Values, tensors: Sequence[Tensor], problems: list[Problem]) -> int | None:
    stored = whole(values.get("block_count"))
    if stored is not None and 0 <= stored <= MOST_LAYERS:
        return stored
    if stored is not None:
        problems.append(Problem("odd-block-count", "error", Text(
            "block_count is {count}; llama.cpp takes 512 layers at most.", count=stored)))
    blocks = [block[0] for t in tensors if (block := block_of(t.name)) and block[0] < MOST_LAYERS]
    return max(blocks) + 1 if blocks else None


def _check_lengths(values: _Values, layers: int | None, problems: list[Problem]) -> None:
    for key in _PER_LAYER_KEYS:
        value = values.get(key)
        length = len(value) if isinstance(value, (tuple, LazyArray)) else None
        if length is None or layers is None or per_layer(value, layers) is not None:
            continue
        problems.append(Problem("per-layer-length", "warning", Text(
            "{key} has {length} values, but the model has {layers} layers.", key=key, length=length, layers=layers)))


def _counts(tensors: Sequence[Tensor]) -> tuple[int, tuple[int, int]]:
    """Parameters in all; (bytes, parameters) of those tensors whose size is known."""
    total = sized_bytes = sized = 0
    for _, shape, _, _, _, size, _ in tensors:
        count = prod(shape)
        if count >= 1 << 63:
            continue
        total += count
        if size is not None:
            sized += count
            sized_bytes += size
    return total, (sized_bytes, sized)


def _quant_mix(tensors: Sequence[Tensor]) -> tuple[tuple[str, int], ...]:
    mix: dict[str, int] = {}
    for _, _, _, name, _, size, _ in tensors:
        mix[name] = mix.get(name, 0) + (size or 0)
    return tuple(Counter(mix).most_common())


def _quant(metadata: Mapping[str, Any], mix: tuple[tuple[str, int], ...]) -> str | None:
    """The stored label. Converters leave "F16" in files that were quantised later: then the dominant type tells."""
    stored = whole(metadata.get("general.file_type"))
    label = FILE_TYPES.get(stored & ~_GUESSED) if stored is not None and stored >= 0 else None
    if label is not None and (label not in _UNQUANTISED or not mix or label.lower() in dict(mix)):
        return label
    return mix[0][0].upper() if mix else None


def _template(metadata: Mapping[str, Any]) -> tuple[bool, bool]:
    texts = {k: v for k, v in metadata.items() if k.startswith("tokenizer.chat_template") and isinstance(v, str)}
    tools = any(k.endswith(".tool_use") or _TOOLS.search(v) for k, v in texts.items())
    return bool(texts), tools


def _vocabulary(values: _Values, tensors: Sequence[Tensor]) -> int | None:
    tokens = values.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, LazyArray) and tokens.length:
        return tokens.length
    stored = values.number("vocab_size")
    if stored is not None:
        return stored
    for name in ("output.weight", "token_embd.weight"):
        for tensor in tensors:
            if tensor.name == name and len(tensor.shape) == 2:
                return tensor.shape[1]
    return None


def _placed(tensors: Sequence[Tensor], layers: int, kind: Kind) -> tuple[tuple[Mapping[str, int], ...], int, int]:
    """Bytes per block and class, bytes of the input layer, bytes of the output layer."""
    blocks = [{"attention": 0, "experts": 0, "ffn": 0, "other": 0} for _ in range(layers)]
    classes: dict[str, str] = {}  # the blocks of a model are alike
    inputs = outputs = 0
    for name, _, _, _, _, nbytes, _ in tensors:
        size = nbytes or 0
        block = block_of(name)
        if block is not None:
            number, rest = block
            if number < layers:
                kind_of_it = classes.get(rest)
                if kind_of_it is None:
                    kind_of_it = classes[rest] = _class(rest)
                blocks[number][kind_of_it] += size
            continue
        first = name.partition(".")[0]
        if first in _INPUT:
            inputs += size
        elif first not in _NEITHER and kind is not Kind.PROJECTOR:
            outputs += size
    return tuple(blocks), inputs, outputs


def _class(name: str) -> str:
    if name.startswith("attn"):
        return "attention"
    if name.startswith("ffn"):
        return "experts" if "exps" in name.partition(".")[0] else "ffn"
    return "other"
