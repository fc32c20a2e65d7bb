"""Which layers need to be built: in a long run of equal layers the allocator settles after a few."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from paddock.fit.architectures import DSA
from paddock.fit.placement import HOST
from paddock.fit.shape import Shape
from paddock.fit.weights import TensorIndex, Weights

KEPT = 4
"""Layers kept at each end of a run. Four are enough for every known graph, three are not."""
_LONGEST = 8
_BY_PLACE = frozenset({"smollm3", "llama4", "afmoe", "smallthinker"})
"""Architectures where every fourth layer goes without positions."""


def shortened(shape: Shape, weights: Weights, staged: bool) -> Sequence[int]:
    """The layers of the trunk with the middles of repeating runs left out, in order.

    Token indexers keep a block for every layer from the start, so none of their layers can be left out.
    staged: weights themselves may be copied into the graph (op offload), so their bytes count as well.
    """
    if shape.architecture in DSA:
        return range(shape.layers)
    signs = _signs(shape, weights, staged)
    out: list[int] = []
    at, end = 0, len(signs)
    while at < end:
        period, stop = _stretch(signs, at)
        keep = -(-KEPT // period) * period
        spare = (stop - at - 2 * keep) // period * period
        if spare > 0:
            out.extend(range(at, at + keep))
            out.extend(range(at + keep + spare, stop))
        else:
            stop = at + 1
            out.append(at)
        at = stop
    return out


def _stretch(signs: Sequence[int], at: int) -> tuple[int, int]:
    """The period (up to 8) that carries furthest from here, and where it ends."""
    best, furthest = 1, at + 1
    for period in range(1, min(_LONGEST, len(signs) - at) + 1):
        stop = at + period
        while stop < len(signs) and signs[stop] == signs[stop - period]:
            stop += 1
        if stop - at >= 2 * period and stop > furthest:
            best, furthest = period, stop
    return best, furthest


def _signs(shape: Shape, weights: Weights, staged: bool) -> list[int]:
    """A number per layer: equal where tensors, sizes, device and overrides are equal."""
    index = weights.index
    exact = _static(shape, index, True) if staged else []
    rough = _static(shape, index, False)
    devices = weights.placement.layer_device
    moved: dict[int, list[tuple[str, int]]] = {}
    for i, device in weights.moved.items():
        if index.homes[i] >= 0:
            moved.setdefault(index.homes[i], []).append((index.suffix(i), device))
    seen: dict[Hashable, int] = {}
    out = []
    for layer in range(shape.layers):
        on_host = staged and (devices[layer] == HOST or layer in moved)
        static = exact[layer] if on_host else ~rough[layer]
        key = static, devices[layer], tuple(sorted(moved[layer])) if layer in moved else None
        out.append(seen.setdefault(key, len(seen)))
    return out


def _static(shape: Shape, index: TensorIndex, staged: bool) -> list[int]:
    """What does not depend on the plan; kept with the model's index."""
    if staged not in index.signs:
        deep = shape.integer("n_deepstack_layers")
        loop = shape.layers_all // max(1, shape.integer("num_loops", 1))
        limits = [shape.lists.get(k, ()) for k in ("swiglu_clamp_exp", "swiglu_clamp_shexp")]
        seen: dict[Hashable, int] = {}
        signs: list[int] = []
        for layer in range(shape.layers):
            block = layer % loop if shape.architecture == "nanbeige" else layer
            tensors = tuple(
                (index.suffix(i), index.tensors[i].shape, index.tensors[i].nbytes if staged else 0)
                for i in index.by_block[block]
            )
            key = (
                tensors,
                shape.heads[layer],
                shape.kv_heads[layer],
                shape.head_k[layer],
                shape.head_v[layer],
                shape.feed_forward[layer],
                shape.experts_used[layer],
                shape.swa[layer],
                shape.recurrent[layer],
                shape.indexer_full[layer],
                layer >= shape.own_kv_layers,
                layer < deep,
                layer % 4 if shape.architecture in _BY_PLACE else 0,
                shape.architecture == "gemma3n" and layer < 10,
                layer % loop == loop - 1,
                layer < shape.integer("leading_dense_block_count"),
                tuple(v[layer] > 0 if layer < len(v) else False for v in limits),
            )
            signs.append(seen.setdefault(key, len(seen)))
        index.signs[staged] = signs
    return index.signs[staged]
