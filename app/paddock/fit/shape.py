"""What llama.cpp reads out of a model file before it reserves anything: numbers per layer, one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.fit import architectures as arch_data
from paddock.gguf.layers import MOST_LAYERS
from paddock.gguf.model import ModelFile
from paddock.text import Text


@dataclass(frozen=True)
class Shape:
    """Sizes of one model. Per-layer tuples have length `layers_all` (MTP blocks included, at the end).

    head_k, head_v: elements per head; rows of the cache are head_k[i] * kv_heads[i] elements.
    """

    architecture: str
    known: bool
    layers_all: int
    nextn: int
    embedding: int
    vocabulary: int
    trained_context: int
    heads: tuple[int, ...]
    kv_heads: tuple[int, ...]
    head_k: tuple[int, ...]
    head_v: tuple[int, ...]
    feed_forward: tuple[int, ...]
    experts: int
    experts_used: tuple[int, ...]
    expert_ff: tuple[int, ...]
    swa: tuple[bool, ...]
    windowed: bool
    """The cache is split in a full and a sliding part (swa_type is not NONE)."""
    window: int
    recurrent: tuple[bool, ...]
    mla: tuple[int, int] | None
    """(key_length_mla, value_length_mla)."""
    kv_lora: int
    rope_dimensions: int
    head_full_k: int
    indexer_full: tuple[bool, ...]
    own_kv_layers: int
    """Layers from here on reuse another layer's cache."""
    state_r: int
    state_s: int
    causal: bool
    integers: Mapping[str, int] = field(default_factory=dict)
    """Every scalar integer of the architecture, by key without the architecture's name."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    lists: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Arrays of fractions."""
    strings: Mapping[str, str] = field(default_factory=dict)

    @property
    def layers(self) -> int:
        """Layers of the trunk (without MTP blocks)."""
        return self.layers_all - self.nextn

    def integer(self, key: str, default: int = 0) -> int:
        return self.integers.get(key, default)

    @classmethod
    def of(cls, model: ModelFile) -> Shape:
        """Read the metadata of a model. ValueError when block_count or the embedding is missing."""
        return _Reader(model).shape()


class _Reader:
    def __init__(self, model: ModelFile) -> None:
        self.model = model
        self.arch = model.architecture or ""
        prefix = self.arch + "."
        self.integers: dict[str, int] = {}
        self.numbers: dict[str, float] = {}
        self.strings: dict[str, str] = {}
        self.arrays: dict[str, tuple[int, ...]] = {}
        self.lists: dict[str, tuple[float, ...]] = {}
        for key, value in model.metadata.items():
            if not key.startswith(prefix):
                continue
            name = key[len(prefix) :]
            if isinstance(value, (bool, int)):
                self.integers[name] = int(value)
            elif isinstance(value, float):
                self.numbers[name] = value
            elif isinstance(value, str):
                self.strings[name] = value
            else:
                self.array(name, value)

    def array(self, name: str, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            if all(isinstance(v, (int, bool)) for v in value):
                self.arrays[name] = tuple(int(v) for v in value)
            elif all(isinstance(v, (int, float)) for v in value):
                self.lists[name] = tuple(float(v) for v in value)

    def number(self, key: str, default: int = 0) -> int:
        return self.integers.get(key, default)

    def per_layer(self, key: str, count: int, default: int | tuple[int, ...] = 0) -> tuple[int, ...]:
        if key in self.arrays:
            return (self.arrays[key] + (0,) * count)[:count]
        if key in self.integers:
            return (self.integers[key],) * count
        return default if isinstance(default, tuple) else (default,) * count

    def layer_counts(self) -> tuple[int, int]:
        blocks, nextn = self.number("block_count"), self.number("nextn_predict_layers")
        if self.arch == "graniteswitch":
            return blocks + 1, 1
        if self.arch == "nanbeige":
            blocks *= max(1, self.number("num_loops", 1))
        if self.arch == "deepseek4" and f"blk.{blocks - nextn}.nextn.eh_proj.weight" not in self.model.by_name:
            nextn = 0
        return blocks, nextn

    def window(self, count: int, nextn: int, recurrent: Sequence[bool]) -> tuple[bool, int, tuple[bool, ...]]:
        """(is the cache split, window, which layers slide)."""
        trunk = count - nextn
        key = self.number("attention.sliding_window")
        nothing = False, 0, (False,) * count
        if self.arch == "deepseek4":
            return True, key, (True,) * count
        if self.arch == "dflash":
            if self.number("hyper_connection.count") > 0:
                return True, key, (True,) * count
            rule = arch_data.Window(0, when="positive")
        elif self.arch in ("lfm2", "lfm2moe"):
            sliding = tuple(i < trunk and not recurrent[i] for i in range(count))
            return (True, key, sliding) if key > 0 and self.arch == "lfm2" else nothing
        elif self.arch in arch_data.WINDOWS:
            rule = arch_data.WINDOWS[self.arch]
        else:
            return nothing
        present = "attention.sliding_window" in self.integers
        if (
            (rule.when == "positive" and key <= 0)
            or (rule.when == "not_zero" and present and key == 0)
            or (rule.when == "64_layers" and trunk != 64)
        ):
            return nothing
        cells = rule.cells if rule.cells is not None else (key if present else rule.default)
        return True, cells, self.sliding(rule, count, trunk)

    def sliding(self, rule: arch_data.Window, count: int, trunk: int) -> tuple[bool, ...]:
        """Which layers slide; those of a decision head never do."""
        head = self.number("decision.block_count") if self.arch == "modern-bert" else 0
        return tuple(slides and i < count - head for i, slides in enumerate(self._pattern(rule, count, trunk)))

    def _pattern(self, rule: arch_data.Window, count: int, trunk: int) -> tuple[bool, ...]:
        name = "attention.sliding_window_pattern"
        if name in self.arrays:
            return tuple(bool(v) for v in (self.arrays[name] + (0,) * count)[:count])
        n = self.number(name, rule.period)
        if n == 0:
            return tuple(i < trunk for i in range(count))
        if rule.dense_first:
            return tuple(i < trunk and i % n != 0 for i in range(count))
        return tuple(i < trunk and i % n < n - 1 for i in range(count))

    def recurrence(self, count: int, nextn: int, kv_heads: Sequence[int], ff: Sequence[int]) -> tuple[bool, ...]:
        trunk = count - nextn
        if self.arch in arch_data.RECURRENT:
            return (True,) * count
        if self.arch not in arch_data.HYBRID and self.arch not in arch_data.INTERVAL:
            return (False,) * count
        if self.arch == "falcon-h1":
            return (True,) * count
        if self.arch in arch_data.INTERVAL:
            name = "attention.recurrent_layers"
            if name in self.arrays or name in self.integers:
                marked = self.per_layer(name, count)
                return tuple(bool(m) and i < trunk for i, m in enumerate(marked))
            n = self.number("full_attention_interval", arch_data.INTERVAL[self.arch])
            return tuple(i < trunk and (n == 0 or (i + 1) % n != 0) for i in range(count))
        if self.arch in ("nemotron_h", "nemotron_h_moe"):
            return tuple(i < trunk and kv_heads[i] == 0 and ff[i] == 0 for i in range(count))
        return tuple(i < trunk and kv_heads[i] == 0 for i in range(count))

    def states(self, embedding: int, heads: Sequence[int], head_k: int) -> tuple[int, int]:
        """(R, S) elements per layer and row: llama-hparams.cpp, n_embd_r and n_embd_s."""
        first = heads[0] if heads else 0
        wkv, conv = self.number("wkv.head_size"), self.number("ssm.conv_kernel")
        inner, state = self.number("ssm.inner_size"), self.number("ssm.state_size")
        if wkv:
            return self.number("token_shift_count", 2) * embedding, embedding * wkv
        if self.number("shortconv.l_cache"):
            return embedding * (self.number("shortconv.l_cache") - 1), state * inner
        kda = self.number("kda.head_dim")
        if kda:
            return 3 * (conv - 1 if conv > 0 else 3) * first * kda, kda * kda * first
        groups = self.number("ssm.group_count")
        r = (conv - 1 if conv > 0 else 0) * (inner + 2 * groups * state)
        return r, head_k * head_k * first if self.arch == "minimax-01" else state * inner

    def vocabulary(self) -> int:
        by_name = self.model.by_name
        if "d2t" in by_name:
            return self.number("vocab_size") or self.model.facts.vocabulary or 0
        for name in ("output.weight", "token_embd.weight"):
            if name in by_name and len(by_name[name].shape) > 1:
                return by_name[name].shape[1]
        return self.number("vocab_size") or self.model.facts.vocabulary or 0

    def full_indexers(self, count: int, nextn: int, trained: int) -> tuple[bool, ...]:
        trunk, name = count - nextn, "attention.indexer.types"
        if self.arch in ("deepseek32", "qwen4exp"):
            return tuple(i < trunk for i in range(count))
        if name in self.arrays or name in self.integers:
            return tuple(bool(v) for v in self.per_layer(name, trunk)) + (False,) * nextn
        if self.arch == "glm-dsa" and trained >= 1048576:
            return tuple(i < trunk and (i < 3 or i % 4 == 2) for i in range(count))
        return tuple(i < trunk for i in range(count))

    def own_kv(self, count: int) -> int:
        if self.arch == "gemma3n":
            return min(20, count)
        return count - self.number("attention.shared_kv_layers") if self.arch == "gemma4" else count

    def shape(self) -> Shape:
        count, nextn = self.layer_counts()
        embedding = self.number("features_length" if self.arch == "wavtokenizer-dec" else "embedding_length")
        if count <= 0 or embedding <= 0:
            raise ValueError(Text("block_count or embedding_length is missing"))
        if count > MOST_LAYERS or not 0 <= nextn <= count:
            raise ValueError(Text("block_count or nextn_predict_layers is out of range"))
        heads = self.per_layer("attention.head_count", count)
        kv_heads = self.per_layer("attention.head_count_kv", count, heads)
        ff = self.per_layer("feed_forward_length", count)
        if self.arch == "graniteswitch":
            heads, kv_heads, ff = (*heads[:-1], 1), (*kv_heads[:-1], 1), (*ff[:-1], 0)
        half = embedding // heads[0] if heads[0] else 0
        full_k = self.number("attention.key_length", half) if heads[0] else 0
        full_v = self.number("attention.value_length", half) if heads[0] else 0
        trained = self.number("context_length")
        recurrent = self.recurrence(count, nextn, kv_heads, ff)
        windowed, cells, swa = self.window(count, nextn, recurrent)
        swa_k = self.number("attention.key_length_swa", full_k)
        swa_v = self.number("attention.value_length_swa", full_v)
        mla = self.number("attention.key_length_mla"), self.number("attention.value_length_mla")
        states = self.states(embedding, heads, full_k)
        experts = self.number("expert_count")
        if self.arch in ("hunyuan_vl", "hunyuan-dense") and experts <= 1:
            experts = 0
        return Shape(
            architecture=self.arch,
            known=self.arch in arch_data.KNOWN,
            layers_all=count,
            nextn=nextn,
            embedding=embedding,
            vocabulary=self.vocabulary(),
            trained_context=trained,
            heads=heads,
            kv_heads=kv_heads,
            head_k=tuple(swa_k if s else full_k for s in swa),
            head_v=tuple(swa_v if s else full_v for s in swa),
            feed_forward=ff,
            experts=experts,
            experts_used=self.per_layer("expert_used_count", count),
            expert_ff=self.per_layer("expert_feed_forward_length", count),
            swa=swa,
            windowed=windowed,
            window=cells,
            recurrent=recurrent,
            mla=mla if all(mla) else None,
            kv_lora=self.number("attention.kv_lora_rank"),
            rope_dimensions=self.number("rope.dimension_count", full_k),
            head_full_k=full_k,
            indexer_full=self.full_indexers(count, nextn, trained),
            own_kv_layers=self.own_kv(count),
            state_r=states[0],
            state_s=states[1],
            causal=self.arch not in arch_data.BOTH_WAYS and bool(self.number("attention.causal", 1)),
            integers=self.integers,
            numbers=self.numbers,
            arrays=self.arrays,
            lists=self.lists,
            strings=self.strings,
        )
