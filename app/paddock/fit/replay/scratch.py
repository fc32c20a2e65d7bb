"""What flash attention asks of a backend: which sizes it knows, and the memory it works in (model section 3.6).

The RPC backend that the recorded dry runs used has neither limits nor scratch, so this is from the sources alone:
ggml-cuda/fattn.cu and fattn-common.cuh, ggml-sycl, ggml-metal (b11434).
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.fit.memory import Sizes, cells_of
from paddock.fit.placement import HOST, Device, Placement
from paddock.fit.replay.nodes import Node
from paddock.fit.replay.parts import Build
from paddock.fit.shape import Shape

_COPIES = frozenset({"cuda", "rocm", "hip", "musa", "sycl", "metal"})
"""Backends that turn keys and values that are not F16 into it first."""
_CUDA = frozenset({"cuda", "rocm", "hip", "musa"})
_HEADS = frozenset({40, 64, 72, 80, 96, 112, 128, 256, 512})
_PAIRS = frozenset({(192, 128), (320, 256), (576, 512)})


def of(b: Build, devices: Sequence[Device]) -> list[tuple[Node, list[int]]]:
    """For each attention, what each device would add to its block."""
    if not any(d.kind in _COPIES for d in devices):
        return []
    shape, sizes = b.shape, b.sizes
    out = []
    for kind, node, layer in b.fused:
        if kind != "flash" or not node.src[1].base.buffered:
            continue
        cells = cells_of(shape, sizes, layer) * sizes.streams
        copied = _copied(sizes.type_k) * shape.head_k[layer] * shape.kv_heads[layer]
        if shape.mla is None:
            copied += _copied(sizes.type_v) * shape.head_v[layer] * shape.kv_heads[layer]
        work = 4 * min(b.u, 32) * shape.heads[layer] * 32 * (shape.head_v[layer] + 2)
        out.append((node, [_extra(d.kind, 2 * copied * cells, work) for d in devices]))
    return out


def _copied(kind: str) -> int:
    return 0 if kind in ("f16", "f32") else 1


def _extra(kind: str, copies: int, work: int) -> int:
    if kind not in _COPIES:
        return 0
    return copies + work if kind == "metal" else copies


def attends(shape: Shape, sizes: Sizes, placement: Placement) -> bool:
    """Whether every GPU with attention layers has flash attention for their sizes and cache types."""
    for layer, device in enumerate(placement.layer_device[: shape.layers]):
        if device == HOST or placement.devices[device].kind not in _CUDA or not shape.kv_heads[layer]:
            continue
        if "iq4_nl" in (sizes.type_k, sizes.type_v):
            return False
        k, v = shape.head_k[layer], shape.head_v[layer]
        if not shape.recurrent[layer] and (k, v) not in _PAIRS and not (k == v and k in _HEADS):
            return False
    return True
