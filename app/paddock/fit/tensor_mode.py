"""-sm tensor: every tensor is cut over all devices, so layers say nothing of where its bytes lie.

llama.cpp shows one device for all of them and no figures before a load. What is known from its source: shares follow
-ts, else they are even; cuts fall between heads and between blocks of rows; small tensors lie on every device. What it
makes of it in bytes was not measured, so each figure has a wide band and none is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paddock.fit.estimator import ContextRows
from paddock.fit.levers import Levers
from paddock.fit.model import DeviceEstimate, Known, Term
from paddock.text import Text

WEIGHTS_BAND, COMPUTE_BAND = 0.05, 1.0
"""Parts of a share by which it may be off besides the cut between heads: judgement."""
ATTENTION = 0.25
"""The part of a layer's weights that is cut between heads, about."""


def divided(rows: Sequence[DeviceEstimate], levers: Levers, main: ContextRows) -> tuple[DeviceEstimate, ...]:
    """The rows with what lies on the devices shared out, each term between two edges; as they are in other modes.

    `rows`: as for layers, "Host" last.
    """
    places = [d.row for d in main.placement.devices]
    if levers.split_mode != "tensor" or len(places) < 2:
        return tuple(rows)
    parts = shares(levers, len(places))
    heads = max(1, max(main.shape.kv_heads, default=1))
    totals = {name: sum(getattr(rows[i], name) for i in places) for name in ("model", "context")}
    compute = max(rows[i].compute for i in places)
    out = list(rows)
    for i, part in zip(places, parts, strict=True):
        cut = min(1.0, 1 / heads) * (1.0 if part else 0.0)
        weights = _term("weights", totals["model"], part, part * WEIGHTS_BAND + ATTENTION * cut)
        cache = _term("kv", totals["context"], part, cut)
        work = Term("compute", compute, Known.REPORTS, compute // 2, int(compute * (1 + COMPUTE_BAND)))
        kept = [t for t in rows[i].terms if t.id not in ("weights", "kv", "compute")]
        note = Text("-sm tensor: cuts fall between heads, so shares differ from -ts; these figures were not measured.")
        out[i] = replace(rows[i], model=weights.bytes, context=cache.bytes, compute=compute,
                         terms=(replace(weights, note=note), cache, work, *kept))
    return tuple(out)


def shares(levers: Levers, count: int) -> list[float]:
    """Each device's part of all: -ts, else even."""
    given = [levers.tensor_split[i] if i < len(levers.tensor_split) else 0.0 for i in range(count)]
    total = sum(given)
    return [one / total for one in given] if total > 0 else [1 / count] * count


def _term(identifier: str, total: int, part: float, spread: float) -> Term:
    size = round(total * part)
    return Term(identifier, size, Known.REPORTS, round(total * max(0.0, part - spread)),
                round(total * min(1.0, part + spread)))
