"""What llama.cpp refuses, in its own order and with its reason (src/llama-context.cpp, common/arg.cpp, b11434)."""

from __future__ import annotations

from paddock.fit import architectures as arch_data
from paddock.fit.levers import Levers
from paddock.fit.memory import Sizes
from paddock.fit.placement import Placement
from paddock.fit.quants import BLOCKS, QUANTISED
from paddock.fit.shape import Shape
from paddock.gguf.model import ModelFile
from paddock.text import Text


def of_arguments(levers: Levers, shape: Shape) -> Text | None:
    """What the command line alone makes impossible."""
    if levers.problem is not None:
        return levers.problem
    if levers.context < 0:
        return Text("--ctx-size cannot be negative.")
    if levers.batch == 0 and levers.ubatch == 0:
        return Text("n_batch and n_ubatch cannot both be zero.")
    if levers.context == 0 and shape.trained_context == 0:
        return Text("n_ctx and n_ctx_train cannot both be zero.")
    if levers.slots > 256:
        return Text("--parallel {count} is over the limit of 256.", count=levers.slots)
    return None


def of_context(shape: Shape, levers: Levers, sizes: Sizes, placement: Placement) -> Text | None:
    """What llama_init_from_model refuses for one context (main, draft or MTP)."""
    return (
        _cache_types(shape, levers, sizes)
        or _head_sizes(shape, levers, sizes)
        or _splits(shape, levers, placement)
        or _aborts(shape, levers, sizes)
    )


def _cache_types(shape: Shape, levers: Levers, sizes: Sizes) -> Text | None:
    if (shape.mla is not None or shape.architecture == "deepseek4") and sizes.type_k != sizes.type_v:
        return Text(
            "The model does not support different K ({k}) and V ({v}) cache types.", k=sizes.type_k, v=sizes.type_v
        )
    if sizes.type_v in QUANTISED and not sizes.flash:
        return Text("A quantized V cache requires flash attention to be enabled.")
    return None


def _head_sizes(shape: Shape, levers: Levers, sizes: Sizes) -> Text | None:
    if levers.flash == "off":
        return None
    for kind, heads, name in ((sizes.type_k, shape.head_k, "K"), (sizes.type_v, shape.head_v, "V")):
        if kind not in QUANTISED:
            continue
        block = BLOCKS[kind][0]
        for layer in range(shape.layers):
            if heads[layer] % block:
                return Text(
                    "{cache} cache type {type} with block size {block} does not divide the head size {size}.",
                    cache=name,
                    type=kind,
                    block=block,
                    size=heads[layer],
                )
    return None


def _splits(shape: Shape, levers: Levers, placement: Placement) -> Text | None:
    if levers.split_mode == "row":
        bad = next((d for d in placement.devices if d.kind != "sycl"), None)
        if bad is not None:
            return Text("{device} does not support split buffers (--split-mode row).", device=bad.name)
    if levers.split_mode == "tensor":
        if levers.flash == "off":
            return Text("--split-mode tensor requires flash attention.")
        if not placement.devices:
            return Text("--split-mode tensor needs at least one device.")
        if shape.architecture in arch_data.NO_TENSOR_SPLIT:
            return Text("--split-mode tensor is not implemented for the architecture {arch}.", arch=shape.architecture)
    return None


def _aborts(shape: Shape, levers: Levers, sizes: Sizes) -> Text | None:
    if sizes.batch < sizes.slots:
        return Text(
            "The batch ({batch}) is smaller than the number of slots ({slots}): llama.cpp aborts.",
            batch=sizes.batch,
            slots=sizes.slots,
        )
    arch = shape.architecture
    tokens = min(sizes.context, sizes.ubatch)
    early = any(not recurrent for recurrent in shape.recurrent[: max(0, shape.layers - 1)])
    if not sizes.unified and arch in arch_data.EQUAL_SEQUENCES and early and tokens % sizes.slots:
        return Text(
            "{arch} needs a micro-batch ({ubatch}) that divides by the {slots} slots: llama.cpp aborts.",
            arch=arch,
            ubatch=tokens,
            slots=sizes.slots,
        )
    if arch == "plm" and sizes.flash and max(tokens, sizes.slots) > 1:
        return Text("{arch} runs only with --flash-attn off: llama.cpp aborts as it stores values.", arch=arch)
    if not sizes.unified and arch == "t5" and sizes.slots > 1:
        return Text("{arch} runs with several slots only when they share the context (--kv-unified).", arch=arch)
    return None


_MTP_NEEDS = {
    "mimo2": ("attn_qkv", "ffn_gate", "ffn_up", "ffn_down"),
    "bailingmoe3": ("layer_output_norm",),
    "qwen4exp": ("nextn.hc_head_norm",),
}
"""Tensors that an MTP graph cannot do without, besides the projection and its norms."""


def of_mtp(model: ModelFile, shape: Shape) -> Text | None:
    """Why no MTP context can be made from these weights."""
    if shape.nextn == 0:
        return Text("The model has no MTP layers (nextn_predict_layers is 0).")
    if shape.architecture not in arch_data.MTP_GRAPH:
        return Text("llama.cpp has no MTP graph for the architecture {arch}.", arch=shape.architecture)
    if shape.nextn != 1 and shape.architecture not in arch_data.MTP_MANY:
        return Text(
            "{arch} runs MTP with exactly one MTP layer; this model has {count}: llama.cpp aborts.",
            arch=shape.architecture,
            count=shape.nextn,
        )
    for part in ("nextn.eh_proj", "nextn.enorm", "nextn.hnorm", *_MTP_NEEDS.get(shape.architecture, ())):
        name = f"blk.{shape.layers}.{part}.weight"
        if name not in model.by_name:
            return Text("The MTP block lacks “{tensor}”: llama.cpp aborts.", tensor=name)
    ratios = shape.arrays.get("attention.compress_ratios", ())
    if shape.architecture == "deepseek4" and shape.layers < len(ratios) and ratios[shape.layers]:
        return Text("The MTP block of {arch} must not compress its cache: llama.cpp aborts.", arch=shape.architecture)
    return None


def of_file(model: ModelFile, shape: Shape, mtp: bool) -> Text | None:
    """What the loader refuses because of the file itself."""
    arch, names = shape.architecture, model.by_name
    head = "output.weight" in names
    if head and arch in arch_data.ALWAYS_TIED:
        return Text("{arch} ties its output to the embedding; a file with output.weight is refused.", arch=arch)
    if not head and arch in arch_data.HEAD_REQUIRED:
        return Text("Missing tensor “output.weight”.")
    window = arch_data.WINDOWS.get(arch)
    if window is not None and window.period == 0 and "attention.sliding_window_pattern" not in shape.arrays:
        return Text("attention.sliding_window_pattern must be an array for {arch}.", arch=arch)
    if arch in arch_data.HEAD_SIZE_CHECKED and shape.rope_dimensions != shape.head_full_k and shape.heads[0]:
        return Text("Invalid n_rot: {found}, expected {wanted}.", found=shape.rope_dimensions, wanted=shape.head_full_k)
    if arch == "t5" and shape.integer("decoder_block_count") > shape.layers_all:
        return Text("decoder_block_count is larger than block_count.")
    if max(shape.experts_used, default=0) > shape.experts and (shape.experts or not shape.integer("expert_count")):
        return Text("The model would use more experts than it has ({count}): llama.cpp aborts.", count=shape.experts)
    shared = shape.layers_all - shape.own_kv_layers
    if arch == "gemma4" and shared > 0:
        last = shape.own_kv_layers - 1
        if last < 1 or shape.swa[last] or not shape.swa[last - 1]:
            return Text(
                "The layers that gemma4 shares its cache from are not one sliding and one full: llama.cpp aborts."
            )
    if not mtp and shape.nextn and arch in arch_data.NEXTN_LOADABLE:
        for tensor in model.tensors:
            if tensor.name.endswith((".scale", ".input_scale")) and _of_nextn(tensor.name, shape):
                return Text("Wrong number of tensors: scales of the MTP block load only with --spec-type draft-mtp.")
    return None


_HASH_SIZES = (1031, 2053, 4099)
"""What ggml makes of a graph's size: the next prime of its table."""


def of_graph(shape: Shape, sizes: Sizes, tensors: int, fused: bool) -> Text | None:
    """A graph with more entries than its scheduler has room for (ggml-impl.h, graph_max_nodes), on its way to an abort.

    Room is made for 8 nodes per tensor. Only Phi 3 with everything fused has more, counted in its dry runs: 29 nodes
    per layer (34 without flash attention), 6 more for each quantised cache, 2 for streams; all tensors and caches too.
    """
    if shape.architecture != "phi3" or not fused or shape.experts:
        return None
    room = next((p for p in _HASH_SIZES if p >= max(1024, 8 * tensors)), None)
    turned = (sizes.type_k in QUANTISED) + (sizes.type_v in QUANTISED)
    each = (29 if sizes.flash else 34) + 6 * turned + (2 if sizes.streams > 1 else 0)
    entries = 9 + each * shape.layers + tensors + 2 * shape.layers + 10 + turned
    if room is None or entries <= room:
        return None
    return Text(
        "The graph of this model ({count} nodes) is larger than llama.cpp makes room for, so it aborts: "
        "quantise K or V only, share the context between slots (--kv-unified), or use one slot.",
        count=entries,
    )


def of_lone(model: ModelFile, shape: Shape) -> Text | None:
    """Why a draft model cannot be loaded by itself: it takes weights or caches from a target."""
    arch, names = shape.architecture, model.by_name
    if arch == "eagle3":
        whole = "token_embd.weight" in names and "output.weight" in names
    elif arch == "dflash":
        whole = "token_embd.weight" in names
    else:
        whole = arch != "gemma4-assistant"
    if whole:
        return None
    return Text("A model of the architecture {arch} is a draft: it runs only beside its target (-md).", arch=arch)


def _of_nextn(name: str, shape: Shape) -> bool:
    parts = name.split(".")
    return (
        parts[0] == "blk" and len(parts) > 1 and parts[1].isdigit() and shape.layers <= int(parts[1]) < shape.layers_all
    )
