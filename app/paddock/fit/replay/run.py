"""From a context's placement to the bytes of its compute buffers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from paddock.fit import closed
from paddock.fit.architectures import EQUAL_SEQUENCES
from paddock.fit.levers import Levers
from paddock.fit.memory import Sizes
from paddock.fit.placement import HOST
from paddock.fit.quants import QUANTISED
from paddock.fit.replay import (
    compressed,
    decision,
    dense,
    dflash,
    dots,
    drafts,
    encoders,
    gemma,
    hybrid,
    hyper,
    linear,
    mla,
    msa,
    mtp,
    own,
    plan,
    qsa,
    rwkv,
    scratch,
    switched,
    vocoder,
)
from paddock.fit.replay.base import Target
from paddock.fit.replay.nodes import NotDescribedError
from paddock.fit.replay.parts import Build
from paddock.fit.shape import Shape
from paddock.fit.weights import Weights

_PROBED = (
    hybrid.GRAPHED
    | linear.GRAPHED
    | hyper.GRAPHED
    | qsa.GRAPHED
    | compressed.GRAPHED
    | switched.GRAPHED
    | decision.GRAPHED
    | dflash.GRAPHED
)
_ROOMS = (
    dense,
    mla,
    hybrid,
    gemma,
    encoders,
    rwkv,
    linear,
    hyper,
    own,
    msa,
    qsa,
    dots,
    drafts,
    dflash,
    compressed,
    switched,
    vocoder,
    decision,
)
_BUILDERS: dict[str, Callable[[Build], None]] = {arch: room.build for room in _ROOMS for arch in room.GRAPHED}
"""Who builds the graph of each architecture."""
_FEW = 32
"""Below so many tokens llama.cpp hints a layer's norms to its device whatever -ngl says."""
_EXPERTS = ("exps.weight", "exps.bias", "exps.scale")


def _grow(b: Build) -> None:
    if b.sizes.mtp and b.arch not in drafts.GRAPHED:
        mtp.build(b)
        return
    builder = _BUILDERS.get(b.arch) if b.shape.known else dense.build
    if builder is None:
        raise NotDescribedError
    builder(b)
    if b.sizes.embeddings:
        b.pool()


def compute(
    shape: Shape, sizes: Sizes, levers: Levers, weights: Weights, target: Target | None = None
) -> closed.ComputeEstimate | None:
    """Replay one context, or None where its architecture's graph is not described. target: whom a draft works for."""
    found = _peaks(shape, sizes, levers, weights, target)
    if found is None:
        return None
    if levers.running and shape.architecture in EQUAL_SEQUENCES and sizes.slots > 1:
        # a server reserves once more, for one sequence; its buffers keep what either needs
        alone = _peaks(shape, replace(sizes, slots=1, streams=1, unified=True), levers, weights, target)
        found = [max(pair) for pair in zip(found, alone or found, strict=True)]
    by_device = dict(enumerate(found[:-1]))
    by_device[HOST] = found[-1]
    return closed.ComputeEstimate(by_device, replayed=True)


def _peaks(shape: Shape, sizes: Sizes, levers: Levers, weights: Weights, target: Target | None) -> list[int] | None:
    placement = weights.placement
    devices = len(placement.devices)
    try:
        few = min(sizes.context, sizes.ubatch) < _FEW
        pinned = levers.running and (few or placement.offloaded > shape.layers_all)
        lost = _lost(shape, sizes, levers, weights, target)
        b = Build(shape, sizes, weights, lost=lost, pinned=pinned, target=target)
        _grow(b)
    except NotDescribedError:
        return None
    offload = next((i for i, d in enumerate(placement.devices) if d.offloads_ops), None) if levers.op_offload else None
    return plan.peaks(
        b.g,
        devices,
        [*(d.align for d in placement.devices), 32],
        pipeline=closed.pipelined(levers, placement),
        offload=offload,
        pins=[*(b.pins if pinned else ()), *b.held] if levers.running else (),
        scratch=scratch.of(b, placement.devices),
    )


def _lost(shape: Shape, sizes: Sizes, levers: Levers, weights: Weights, target: Target | None) -> frozenset[str]:
    """The fused operations that llama.cpp gives up: its probe found one on another device than its layer's.

    Only architectures where a probe can find one are probed here (llama-context.cpp, resolve_fused_ops).
    """
    placement = weights.placement
    auto = levers.flash == "auto" and sizes.type_v not in QUANTISED
    if auto and not scratch.attends(shape, sizes, placement):
        return frozenset({"flash"})
    if not placement.devices or not _doubtful(shape, sizes, weights):
        return frozenset()
    lost: frozenset[str] = frozenset()
    wrong: set[str] | None = None
    for kind in ("flash", "pre", "comb", "post"):
        if kind == "flash" and not auto:
            continue
        if wrong is None:
            wrong = _misplaced(shape, sizes, weights, lost, target)
        if kind in wrong:
            lost |= {kind}
            wrong = None
    return lost


def _doubtful(shape: Shape, sizes: Sizes, weights: Weights) -> bool:
    """Whether a fused operation could lie elsewhere: states beside caches on the CPU, or weights moved out of a layer.

    Experts alone can be moved without that: what reads the cache is not their neighbour.
    """
    placement = weights.placement
    if shape.architecture in _PROBED and (not sizes.kv_offload or HOST in placement.layer_device):
        return True
    names = weights.index.names
    return any(not names[i].endswith(_EXPERTS) and weights.index.homes[i] >= 0 for i in weights.moved)


def _misplaced(shape: Shape, sizes: Sizes, weights: Weights, lost: frozenset[str], target: Target | None) -> set[str]:
    """Kinds of fused operations that lie elsewhere than their layers, in a probe's graph."""
    placement = weights.placement
    b = Build(shape, sizes, weights, lost=lost, probe=True, target=target)
    _grow(b)
    full = placement.offloaded > shape.layers_all
    plan.assign(b.g, len(placement.devices), None, [*(b.pins if b.u < _FEW or full else ()), *b.held])
    return {kind for kind, node, layer in b.fused if node.device != b.device_of_layer(layer)}
