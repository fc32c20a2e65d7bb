"""Where weights and cache really lie: on the processor against the plan, less on a card than planned, spilt over.

Proof is the engine's own list of buffers at -lv 4. The line `offloaded N/M layers` is none: it is printed also by a
build without any GPU.
"""

from __future__ import annotations

import numpy as np

from paddock.session.detectors.model import HOST, Finding, View
from paddock.text import Text
from paddock.units import MIB, bytes_text

_LEAST_BYTES = 16 * MIB
_SHORT_BYTES, _SHORT_SHARE = 64 * MIB, 0.08
"""Less than planned counts from here: the estimate is nearer than that, and one layer of a small model is more."""
_SPILL_BYTES, _SPILL_S = 256 * MIB, 60.0
_FULL = 0.9
_SHARED = "shared_used_bytes"
_LINE = "model buffer size"


def _planned(view: View) -> dict[str, int]:
    return {name: size for name, size in view.plan.model_bytes.items() if name != HOST and size >= _LEAST_BYTES}


def _weights(view: View) -> dict[str, int] | None:
    """Bytes of weights by device as the log told them, None where it told no buffers of them."""
    if not any(b.role == "main" and b.term == "model" for b in view.memory.buffers):
        return None
    return {row.name: row.model for row in view.memory.rows()}


def on_the_cpu(view: View) -> Finding | None:
    """All weights lie in RAM although the plan puts them on cards."""
    planned, real = _planned(view), _weights(view)
    if not view.ready or not planned or real is None or any(real.get(n, 0) for n in real if n != HOST):
        return None
    names = ", ".join(planned)
    return Finding(
        "on_cpu", Text("You are degraded: the model runs on the processor, not on {devices}.", devices=names),
        Text("The log's buffers hold {ram} of weights in RAM and none on {devices}; the plan puts {size} there.",
             ram=bytes_text(real.get(HOST, 0)), devices=names, size=bytes_text(sum(planned.values()))),
        Text("Look above in the log for what the driver said, and at the devices that this engine sees (paddock "
             "engines); an engine without this backend runs everything on the processor."), _LINE)


def fewer_on_a_device(view: View) -> Finding | None:
    """A card got less of the weights than planned."""
    planned, real = _planned(view), _weights(view)
    if not view.ready or real is None or not any(size for name, size in real.items() if name != HOST):
        return None
    short = {n: size - real.get(n, 0) for n, size in planned.items()}
    name = max(short, key=lambda n: short[n], default=None)
    if name is None or short[name] < max(_SHORT_BYTES, _SHORT_SHARE * planned[name]):
        return None
    return Finding(
        "fewer_layers", Text("You are degraded: {device} holds less of the model than planned.", device=name),
        Text("By the log's buffers {device} holds {real} of weights, the plan puts {planned} there; RAM holds {ram}.",
             device=name, real=bytes_text(real.get(name, 0)), planned=bytes_text(planned[name]),
             ram=bytes_text(real.get(HOST, 0))),
        Text("Free memory on {device} (other programs, a smaller context), then launch again.", device=name), _LINE)


def cache_off_device(view: View) -> Finding | None:
    """The KV cache lies in RAM although the plan puts it on a card."""
    planned = {n: s for n, s in view.plan.context_bytes.items() if n != HOST and s >= _LEAST_BYTES}
    weights = _weights(view) or {}
    # Where the weights are in RAM as well, that is the finding, and the cache follows from it.
    if not view.ready or not planned or not any(size for name, size in weights.items() if name != HOST):
        return None
    if not any(b.term == "context" for b in view.memory.buffers):
        return None
    real = {row.name: row.context for row in view.memory.rows()}
    short = sum(planned.values()) - sum(real.get(n, 0) for n in planned)
    more = real.get(HOST, 0) - view.plan.context_bytes.get(HOST, 0)
    if short < max(_SHORT_BYTES, _SHORT_SHARE * sum(planned.values())) or more < short // 2:
        return None
    return Finding(
        "cache_in_ram", Text("You are degraded: part of the KV cache lies in RAM."),
        Text("By the log's buffers {real} of the cache are in RAM; the plan puts {planned} of it on {devices}.",
             real=bytes_text(real.get(HOST, 0)), planned=bytes_text(sum(planned.values())), devices=", ".join(planned)),
        Text("Lower the context or quantise the cache (-ctk q8_0 -ctv q8_0), so that it fits beside the weights."),
        "KV buffer size")


def spilling(view: View) -> Finding | None:
    """A card is full and what it borrows of the host's memory grows (Windows' shared memory, amdgpu's GTT)."""
    for name in view.cards:
        if name in view.plan.integrated:
            continue
        _, whole = view.column(f"{name}.{_SHARED}", view.ready_t, 2000)
        recent = view.last(f"{name}.{_SHARED}", _SPILL_S)
        known = whole[~np.isnan(whole)]
        if not len(known) or not len(recent):
            continue
        grown = float(recent[-1]) - float(known[: max(1, len(known) // 10)].min())
        used, total = view.last(f"{name}.used_bytes", _SPILL_S), view.plan.total_bytes.get(name)
        full = total is None or not len(used) or float(used[-1]) >= _FULL * total
        if grown >= _SPILL_BYTES and full:
            return Finding(
                "spill", Text("You are degraded: {device} is full and uses the computer's RAM.", device=name),
                Text("What {device} borrows of RAM grew by {grown} to {now} since the start.", device=name,
                     grown=bytes_text(grown), now=bytes_text(float(recent[-1]))),
                Text("Give it less to hold: fewer layers, a smaller context or cache, or close other programs that "
                     "use {device}.", device=name))
    return None
