"""The compute buffers in closed form, for architectures whose graphs are not replayed. Comes with a band.

The largest stage of each device's layers, its masks and the activations that stay alive around it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from paddock.fit import architectures as arch_data
from paddock.fit.levers import Levers
from paddock.fit.memory import Sizes, attention_layers, cells_of, rows
from paddock.fit.placement import HOST, Placement
from paddock.fit.quants import padded
from paddock.fit.shape import Shape
from paddock.fit.weights import Weights

_POOLED = {"qwen4exp": 95, "glm5-next": 81, "hy_v4": 23}


@dataclass(frozen=True)
class ComputeEstimate:
    """Bytes per device index (HOST included). `low`/`high` are factors around them (1, 1: exact)."""

    by_device: dict[int, int]
    low: float = 1.0
    high: float = 1.0
    replayed: bool = False


def tokens(sizes: Sizes) -> int:
    """Tokens of the reserved micro-batch."""
    return padded(min(sizes.context, sizes.ubatch), sizes.slots)


def mask_bytes(shape: Shape, sizes: Sizes) -> int:
    """The attention masks of the caches that some layer uses."""
    u, width = tokens(sizes), 2 if sizes.flash else 4
    if shape.architecture in arch_data.NO_CACHE:
        return width * u * u
    wanted = attention_layers(shape, sizes)
    kinds = {cells_of(shape, sizes, i) for i in range(shape.layers_all) if wanted(i)}
    if shape.architecture in arch_data.RECURRENT:
        return 0
    return width * u * sum(kinds)


def compute(shape: Shape, sizes: Sizes, levers: Levers, weights: Weights) -> ComputeEstimate:
    """The closed form for one context."""
    placement = weights.placement
    u = tokens(sizes)
    f, x = 4 * u, 4 * u * shape.embedding
    mask = mask_bytes(shape, sizes)
    outputs = min(u, sizes.outputs)
    work: dict[int, int] = defaultdict(int)
    layers = [i for i in range(shape.layers_all) if (i >= shape.layers if sizes.mtp else i < max(1, shape.layers))]
    for layer in layers:
        device = placement.layer_device[layer]
        work[device] = max(work[device], _attention_work(shape, sizes, layer, u, f))
        if layer != layers[-1]:
            home = _ffn_device(weights, layer, device)
            work[home] = max(work[home], _ffn_work(shape, layer, f))
    head = 4 * outputs * (shape.vocabulary + shape.embedding)
    found: dict[int, int] = {}
    used = sorted({placement.layer_device[i] for i in layers} - {HOST})
    pipeline = pipelined(levers, placement)
    for place, device in enumerate(used):
        if pipeline:
            found[device] = 4 * ((3 if place == 0 else 2) * x + mask) + work[device] + (4 if place == 0 else 3) * x
        else:
            found[device] = mask + work[device] + (4 if place == 0 and placement.layer_device[0] != HOST else 2) * x
    out = placement.output_device
    if out != HOST:
        found[out] = max(found.get(out, 0), head + (mask + 2 * x if out in used else 0))
    all_gpu = HOST not in {placement.layer_device[i] for i in layers}
    if pipeline:
        found[HOST] = 4 * (2 * x + mask) + 2 * x
    elif all_gpu:
        found[HOST] = max(4 * x + mask, mask + 2 * x + work[HOST] if work[HOST] else 0)
    else:
        found[HOST] = mask + work[HOST] + 5 * x
        if out == HOST:
            found[HOST] = max(found[HOST], mask + 5 * x + head)
    own = shape.architecture in arch_data.OWN_GRAPH or not shape.known
    moe = bool(shape.experts) or shape.mla is not None
    low, high = (0.9, 1.6) if own else ((0.92, 1.1) if moe else (0.92, 1.08))
    if not sizes.flash or not sizes.kv_offload:
        low, high = min(low, 0.8), max(high, 1.2)
    if placement.overrides:
        low, high = min(low, 0.65), max(high, 1.35)
    return ComputeEstimate(found, low, high)


def pipelined(levers: Levers, placement: Placement) -> bool:
    """Whether llama.cpp keeps four copies of the inputs to work on several batches at once."""
    return (
        len(placement.devices) > 1
        and placement.offloaded >= len(placement.layer_device)
        and levers.split_mode == "layer"
        and levers.kv_offload
        and not placement.overrides
        and all(d.pipelines for d in placement.devices)
    )


def _ffn_device(weights: Weights, layer: int, device: int) -> int:
    index = weights.index
    for name in ("ffn_down_exps", "ffn_down"):
        i = index.position.get(f"blk.{layer}.{name}.weight")
        if i is not None:
            return weights.device_of(i)
    return device


def _attention_work(shape: Shape, sizes: Sizes, layer: int, u: int, f: int) -> int:
    heads = shape.heads[layer]
    q = heads * shape.head_k[layer]
    k, v = rows(shape, sizes, layer)
    if shape.recurrent[layer]:
        inner = shape.integer("ssm.inner_size") or shape.heads[0] * shape.integer("kda.head_dim") or shape.embedding
        conv = inner + 2 * shape.integer("ssm.group_count") * shape.integer("ssm.state_size")
        if shape.architecture in arch_data.INTERVAL:
            return int(f * 2.2 * conv)
        return f * 3 * (2 * inner + 2 * shape.integer("ssm.group_count") * shape.integer("ssm.state_size"))
    if shape.mla is not None:
        term = f * heads * (shape.mla[0] + 2 * shape.kv_lora + 2 * shape.rope_dimensions)
    else:
        term = f * (2 * q + k + v)
    if not sizes.flash:
        cells = u if shape.architecture in arch_data.NO_CACHE else cells_of(shape, sizes, layer) * sizes.streams
        term = (term if shape.mla else f * 2 * q) + 4 * u * heads * cells + (0 if shape.mla else 8 * u * v)
    top = shape.integer("attention.indexer.top_k")
    if shape.architecture in _POOLED and top:
        term += _POOLED[shape.architecture] * u * min(sizes.cells, top)
    return term


def _ffn_work(shape: Shape, layer: int, f: int) -> int:
    if shape.experts and shape.experts_used[layer] and layer >= shape.integer("leading_dense_block_count"):
        used, wide = shape.experts_used[layer], shape.expert_ff[layer] or shape.feed_forward[layer]
        return f * (3 * used * wide + (used * shape.embedding if shape.embedding > 2 * wide else 0))
    return 3 * f * shape.feed_forward[layer]
