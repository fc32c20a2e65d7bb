"""One context after another: rows of llama.cpp's memory breakdown for a model and the levers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from paddock.fit import architectures as arch_data
from paddock.fit import closed, refusals
from paddock.fit.closed import ComputeEstimate
from paddock.fit.levers import Levers
from paddock.fit.memory import Sizes, parts
from paddock.fit.placement import HOST, Device, Placement, RefusedError, chosen, place
from paddock.fit.quants import padded
from paddock.fit.replay import run
from paddock.fit.replay.base import Target
from paddock.fit.shape import Shape
from paddock.fit.weights import TensorIndex, Weights
from paddock.gguf.model import ModelFile
from paddock.text import Text


@dataclass(frozen=True)
class ContextRows:
    """One context's model, context and compute bytes, by device index (HOST = row "Host")."""

    shape: Shape
    sizes: Sizes
    placement: Placement
    model: dict[int, int]
    context: dict[int, int]
    compute: ComputeEstimate
    weights: Weights


class Known:
    """What does not change between two edits on the same model: its shape and its tensor index."""

    def __init__(self, model: ModelFile) -> None:
        self.model = model
        self.shape = Shape.of(model)
        self._index: dict[bool, TensorIndex] = {}

    def index(self, mtp: bool) -> TensorIndex:
        if mtp not in self._index:
            self._index[mtp] = TensorIndex(self.model, self.shape, mtp)
        return self._index[mtp]


_CACHE: OrderedDict[tuple[str, str], Known] = OrderedDict()


def known(model: ModelFile) -> Known:
    """The model's facts, kept for the last few models. ValueError when its metadata is not enough."""
    key = model.identity, str(model.path)
    found = _CACHE.get(key)
    if found is None:
        found = _CACHE[key] = Known(model)
        while len(_CACHE) > 8:
            _CACHE.popitem(last=False)
    else:
        _CACHE.move_to_end(key)
    return found


def overridden(model: ModelFile, levers: Levers) -> ModelFile:
    """The model as llama.cpp reads it with --override-kv: single values only, a key that holds a list keeps it."""
    changed = {k: v for k, v in levers.keys if not isinstance(model.metadata.get(k), (list, tuple))}
    if not changed:
        return model
    return replace(model, metadata={**model.metadata, **changed}, identity=f"{model.identity}{levers.keys}")


def main_rows(model: ModelFile, levers: Levers, devices: Sequence[Device]) -> ContextRows:
    """The target's context. Raises RefusedError."""
    model = overridden(model, levers)
    facts = known(model)
    shape = facts.shape
    problem = (refusals.of_arguments(levers, shape) or refusals.of_file(model, shape, "draft-mtp" in levers.spec_types)
               or refusals.of_lone(model, shape))
    if problem is not None:
        raise RefusedError(problem)
    picked = chosen(levers, devices)
    if levers.running:  # llama.cpp's dry run comes before --fit, and holds one slot's context for all
        levers = with_open_context(levers, shape)
    return _rows(
        facts,
        levers,
        Sizes.of(shape, levers),
        place(levers, picked, shape.layers_all),
        mtp="draft-mtp" in levers.spec_types,
    )


def with_open_context(levers: Levers, shape: Shape) -> Levers:
    """--fit makes a context that was left open as large for every slot of its own (common/fit.cpp)."""
    if levers.context or not levers.fit or levers.unified or levers.split_mode == "tensor":
        return levers
    return replace(levers, context=shape.trained_context * levers.slots)


def draft_rows(model: ModelFile, levers: Levers, devices: Sequence[Device], target: ContextRows) -> ContextRows:
    """The context of a draft model of its own. Raises RefusedError."""
    model = overridden(model, levers)
    facts = known(model)
    shape = facts.shape
    small = levers.draft or levers
    if small.devices is not None and len(small.devices) == 1 and levers.devices != small.devices:
        small = replace(small, split_mode="layer")
    problem = refusals.of_file(model, shape, "draft-mtp" in levers.spec_types)
    if problem is None and "draft-mtp" in levers.spec_types and shape.architecture != "gemma4-assistant":
        problem = refusals.of_mtp(model, shape)
    if problem is not None:
        raise RefusedError(problem)
    blocks = {"draft-dflash", "draft-dspark"} & set(levers.spec_types)
    small = replace(small, draft_tokens=max(0, levers.draft_max) if blocks else 0, rollback=0)
    mtp = "draft-mtp" in levers.spec_types and shape.nextn > 0
    sizes = Sizes.of(shape, small, context=_context_of(levers, target), mtp=mtp)
    placement = place(small, chosen(small, devices), shape.layers_all)
    lender = Target(target.shape, target.sizes, target.weights)
    return _rows(facts, small, sizes, placement, mtp=mtp, target=lender)


def mtp_rows(model: ModelFile, levers: Levers, target: ContextRows) -> ContextRows:
    """A second context on the target's own MTP layers. Raises RefusedError."""
    model = overridden(model, levers)
    facts = known(model)
    problem = refusals.of_mtp(model, facts.shape)
    if problem is not None:
        raise RefusedError(problem)
    small = levers.draft or levers
    small = replace(small, draft_tokens=0, rollback=0, overrides=levers.overrides)
    sizes = Sizes.of(facts.shape, small, context=_context_of(levers, target), mtp=True)
    return _rows(facts, small, sizes, target.placement, mtp=True)


def _context_of(levers: Levers, target: ContextRows) -> int:
    """What a second context is asked to hold: the target's cells; in a dry run what the target itself was asked for."""
    if levers.running:
        return target.sizes.context
    return levers.context or target.shape.trained_context


def _rows(facts: Known, levers: Levers, sizes: Sizes, placement: Placement, *, mtp: bool,
          target: Target | None = None) -> ContextRows:
    shape = facts.shape
    problem = refusals.of_context(shape, levers, sizes, placement)
    if problem is not None:
        raise RefusedError(problem)
    index = facts.index(mtp)
    problem = refusals.of_graph(shape, sizes, len(index.names), "blk.0.attn_qkv.weight" in index.position)
    if problem is not None:
        raise RefusedError(problem)
    weights = Weights(index, placement, levers)
    context: dict[int, int] = {}
    for part in parts(shape, sizes):
        device = placement.layer_device[part.layer] if sizes.kv_offload else HOST
        align = 32 if device == HOST else placement.devices[device].align
        context[device] = context.get(device, 0) + padded(part.nbytes, align)
    compute = run.compute(shape, sizes, levers, weights, target) or closed.compute(shape, sizes, levers, weights)
    return ContextRows(shape, sizes, placement, weights.by_device, context, compute, weights)


STATELESS = arch_data.NO_CACHE | arch_data.RECURRENT | {"gemma4-assistant"}
"""No cache that grows with the context."""


def is_pipelined(levers: Levers, rows: ContextRows) -> bool:
    """Several devices work on several batches at once."""
    return closed.pipelined(levers, rows.placement)


def residual_bytes(rows: ContextRows) -> int:
    """One activation of the micro-batch: tokens * width, F32."""
    return 4 * closed.tokens(rows.sizes) * rows.shape.embedding


def cant_tell(shape: Shape) -> Text | None:
    """Why an architecture that is not in the table cannot be estimated; None where its keys say enough."""
    if shape.known:
        return None
    odd = [k for k in shape.integers if k.startswith(("ssm.", "wkv.", "kda.", "shortconv.", "attention.indexer"))]
    if odd or not shape.heads[0]:
        return Text(
            "The architecture {arch} is not known, and its state cannot be told from its metadata.",
            arch=shape.architecture,
        )
    return None
