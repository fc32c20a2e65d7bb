"""From a context's placement to the bytes of its compute buffers."""

from __future__ import annotations

from paddock.fit import closed
from paddock.fit.levers import Levers
from paddock.fit.memory import Sizes
from paddock.fit.placement import HOST
from paddock.fit.replay import dense, hybrid, mla, mtp, plan
from paddock.fit.replay.nodes import NotDescribed
from paddock.fit.replay.parts import Build
from paddock.fit.shape import Shape
from paddock.fit.weights import Weights


def _grow(b: Build) -> None:
    arch = b.arch
    if b.sizes.mtp:
        mtp.build(b)
    elif arch in mla.GRAPHED:
        mla.build(b)
    elif arch in hybrid.GRAPHED:
        hybrid.build(b)
    elif arch in dense.GRAPHED or not b.shape.known:
        dense.build(b)
    else:
        raise NotDescribed


def compute(shape: Shape, sizes: Sizes, levers: Levers, weights: Weights) -> closed.ComputeEstimate | None:
    """Replay one context, or None where its architecture's graph is not described."""
    placement = weights.placement
    b = Build(shape, sizes, weights)
    try:
        _grow(b)
    except NotDescribed:
        return None
    devices = len(placement.devices)
    offload = next((i for i, d in enumerate(placement.devices) if d.offloads_ops), None) if levers.op_offload else None
    found = plan.peaks(b.g, devices, [*(d.align for d in placement.devices), 32],
                       pipeline=closed.pipelined(levers, placement), offload=offload)
    by_device = {i: size for i, size in enumerate(found[:-1])}
    by_device[HOST] = found[-1]
    return closed.ComputeEstimate(by_device, replayed=True)
