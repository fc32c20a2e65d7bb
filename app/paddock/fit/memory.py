"""The caches and states of a context ("context" in llama.cpp's breakdown): one part per tensor that it allocates.

Rules from src/llama-kv-cache*.cpp, src/llama-memory-*.cpp and llama_model::create_memory, b11434.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from paddock.fit import architectures as arch_data
from paddock.fit.levers import Levers
from paddock.fit.quants import padded, row_bytes
from paddock.fit.shape import Shape


@dataclass(frozen=True)
class Sizes:
    """One context's numbers after llama.cpp's rounding (llama-context.cpp)."""

    context: int
    """Cells in all streams."""
    cells: int
    """Cells per stream (n_ctx_seq)."""
    streams: int
    slots: int
    unified: bool
    batch: int
    ubatch: int
    outputs: int
    """Most rows that give logits in one batch."""
    type_k: str
    type_v: str
    flash: bool
    swa_full: bool
    kv_offload: bool
    states: int
    """Recurrent states kept per slot besides the current one (n_rs_seq)."""
    mtp: bool = False
    embeddings: bool = False
    pooling: str = "none"
    """How the graph joins the rows of a sequence, with --embeddings."""

    def sliding(self, window: int) -> int:
        """Cells per stream of a sliding-window cache (llama-kv-cache-iswa.cpp)."""
        if self.swa_full:
            return self.cells
        return padded(min(self.cells, window * (self.slots if self.unified else 1) + self.ubatch), 256)

    @classmethod
    def of(cls, shape: Shape, levers: Levers, *, mtp: bool = False, context: int | None = None) -> Sizes:
        """`context`: cells asked for (a draft takes its target's), else -c, else what the model was trained with."""
        asked = context or levers.context or shape.trained_context
        batch = min(asked, levers.batch) if shape.causal else levers.batch
        ubatch = min(batch, levers.ubatch or levers.batch)
        total = padded(asked, 256)
        cells = total
        if not levers.unified:
            cells = padded(total // levers.slots, 256)
            total = cells * levers.slots
        whole = levers.embeddings or levers.pooling not in (None, "none") or shape.architecture in arch_data.ENCODING
        outputs = batch if whole else max(1, min(levers.batch, levers.slots * (1 + levers.draft_tokens)))
        flash = levers.flash != "off" and shape.architecture != "grok"
        states = levers.rollback if shape.architecture in arch_data.ROLLBACK and not mtp else 0
        return cls(
            total,
            cells,
            1 if levers.unified else levers.slots,
            levers.slots,
            levers.unified,
            batch,
            ubatch,
            min(outputs, batch),
            levers.type_k,
            levers.type_v,
            flash,
            levers.swa_full,
            levers.kv_offload,
            states,
            mtp,
            levers.embeddings,
            _pooling(shape, levers) if levers.embeddings else "none",
        )


def _pooling(shape: Shape, levers: Levers) -> str:
    """--pooling, else what the model was made for."""
    if levers.pooling is not None:
        return levers.pooling
    return {1: "mean", 2: "cls", 3: "last", 4: "rank"}.get(shape.integer("pooling_type"), "none")


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor: its layer, what it is ("k", "v", "index", "state"), its bytes before padding."""

    layer: int
    kind: str
    nbytes: int


def parts(shape: Shape, sizes: Sizes) -> list[Part]:
    """Every cache tensor of a context, layer by layer; empty where llama.cpp makes no memory."""
    arch = shape.architecture
    if arch in arch_data.NO_CACHE or arch == "gemma4-assistant":
        return []
    if arch == "deepseek4" and not sizes.mtp:
        return list(_deepseek4(shape, sizes))
    if arch in arch_data.RECURRENT:
        return list(_states(shape, sizes))
    found = list(_attention(shape, sizes))
    found.extend(_indexers(shape, sizes))
    if arch in arch_data.HYBRID and not sizes.mtp:
        found.extend(_states(shape, sizes))
    return found


def attention_layers(shape: Shape, sizes: Sizes) -> Callable[[int], bool]:
    """Which layers have keys (and values) of their own in this context."""
    arch, trunk = shape.architecture, shape.layers
    if sizes.mtp:
        return lambda i: i >= trunk
    if arch in ("nemotron_h", "nemotron_h_moe"):
        return lambda i: not shape.recurrent[i] and shape.feed_forward[i] == 0
    if arch == "falcon-h1":
        return lambda i: True
    if arch in arch_data.INTERVAL or arch == "glm5-next":
        return lambda i: i < trunk and not shape.recurrent[i]
    if arch in arch_data.HYBRID:
        return lambda i: not shape.recurrent[i]
    if arch in arch_data.DSA:
        return (lambda i: True) if arch == "hy_v4" else (lambda i: i < trunk)
    if shape.nextn > 0 and trunk > 0 and arch not in ("graniteswitch", "minimax-m3"):
        return lambda i: i < trunk
    return lambda i: i < shape.own_kv_layers


def rows(shape: Shape, sizes: Sizes, layer: int) -> tuple[int, int]:
    """Elements of one token's key and value in the cache (value 0: keys only)."""
    k = shape.head_k[layer] * shape.kv_heads[layer]
    if shape.mla is not None:
        return k, 0
    if sizes.flash:
        return k, shape.head_v[layer] * shape.kv_heads[layer]
    return k, max(v * h for v, h in zip(shape.head_v, shape.kv_heads, strict=True))


def cells_of(shape: Shape, sizes: Sizes, layer: int) -> int:
    """Cells per stream of a layer's cache."""
    return sizes.sliding(shape.window) if shape.windowed and shape.swa[layer] else sizes.cells


def _attention(shape: Shape, sizes: Sizes) -> Iterator[Part]:
    wanted = attention_layers(shape, sizes)
    for layer in range(shape.layers_all):
        if not wanted(layer):
            continue
        k, v = rows(shape, sizes, layer)
        cells = cells_of(shape, sizes, layer) * sizes.streams
        if k or v:
            yield Part(layer, "k", row_bytes(sizes.type_k, k) * cells)
        if v:
            yield Part(layer, "v", row_bytes(sizes.type_v, v) * cells)


def _indexers(shape: Shape, sizes: Sizes) -> Iterator[Part]:
    arch, key = shape.architecture, shape.integer("attention.indexer.key_length")
    cells = sizes.cells * sizes.streams
    if arch == "minimax-m3":
        for layer in range(shape.integer("leading_dense_block_count"), shape.layers_all):
            yield Part(layer, "index", row_bytes(sizes.type_k, key) * cells)
            yield Part(layer, "index", row_bytes(sizes.type_v, shape.head_v[layer]) * cells)
        return
    if not key or (arch in arch_data.DSA and sizes.mtp):
        return
    if arch in arch_data.DSA:
        if arch == "hy_v4" and shape.integer("attention.indexer.top_k") <= 0:
            return
        wanted = shape.indexer_full
    elif arch == "qwen4exp" and any(
        shape.arrays.get("attention.compress_ratios", ()) or (shape.integer("attention.compress_ratios"),)
    ):
        key, wanted = key * 2, tuple(not r for r in shape.recurrent)
    elif arch == "glm5-next":
        key *= 3 if shape.integer("attention.indexer.kpool") > 0 else 1
        wanted = tuple(f and not r for f, r in zip(shape.indexer_full, shape.recurrent, strict=True))
    else:
        return
    for layer in range(shape.layers_all):
        if (layer >= shape.layers) if sizes.mtp else (wanted[layer] and layer < max(shape.layers, 1)):
            yield Part(layer, "index", row_bytes(sizes.type_k, key) * cells)


def _states(shape: Shape, sizes: Sizes) -> Iterator[Part]:
    count = max(1, sizes.slots) * (1 + sizes.states)
    side = shape.arrays.get("ple.layers", ())
    conv = (
        (shape.integer("ple.conv_kernel") - 1)
        * shape.integer("ple.ngram_size")
        * shape.integer("hyper_connection.count")
        * shape.embedding
    )
    for layer in range(shape.layers_all):
        if not shape.recurrent[layer] or layer >= shape.layers:
            continue
        for elements in (shape.state_r, shape.state_s):
            if elements:
                yield Part(layer, "state", 4 * elements * count)
        if layer in side and conv > 0:
            yield Part(layer, "state", 4 * conv * count)


def _deepseek4(shape: Shape, sizes: Sizes) -> Iterator[Part]:
    """Raw window, compressed caches and compressor states; the streams are the slots even when unified."""
    slots, ratios = sizes.slots, shape.arrays.get("attention.compress_ratios", ())
    raw = sizes.cells if sizes.swa_full else padded(min(sizes.cells, shape.window + sizes.ubatch), 256)
    key = shape.integer("attention.indexer.key_length")
    planes = slots * (1 + sizes.states)
    for layer in range(shape.layers_all):
        row = row_bytes(sizes.type_k, shape.head_k[layer] * shape.kv_heads[layer])
        yield Part(layer, "k", row * raw * slots)
        ratio = ratios[layer] if layer < len(ratios) else 0
        if ratio not in (4, 128):
            continue
        cells = padded(-(-sizes.cells // ratio), 256) * slots
        yield Part(layer, "k", row * cells)
        if ratio == 4:
            yield Part(layer, "index", row_bytes(sizes.type_k, key) * cells)
        if layer >= shape.layers:
            continue
        hk = shape.head_k[layer]
        states = [2 * hk * 8, 2 * key * 8] if ratio == 4 else [hk * 128]
        for elements in states:
            for _ in range(2):
                yield Part(layer, "state", 4 * elements * planes)
