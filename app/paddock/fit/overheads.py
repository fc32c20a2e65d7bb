"""What lies outside llama.cpp's memory breakdown: driver contexts, logits, the prompt cache, checkpoints, a projector.

Sources: memory-model 4 and 6 (user reports for driver contexts, llama-context.cpp for logits, server-context.cpp for
cache and checkpoints). Every term says how it is known and between which figures the truth lies.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.fit.estimator import ContextRows
from paddock.fit.levers import Levers
from paddock.fit.memory import cells_of, parts
from paddock.fit.model import Known, Term
from paddock.fit.placement import HOST
from paddock.gguf.model import ModelFile
from paddock.text import Text
from paddock.units import MIB, bytes_text

CHECKPOINT_SPACING = 8192
DRIVER_CONTEXT = {"cuda": (450 * MIB, 300 * MIB, 600 * MIB), "sycl": (1300 * MIB, 1200 * MIB, 1500 * MIB)}
"""backend → (bytes, low, high) per device that a process touches, from reports (RTX 4090: 451 to 456 MiB; about 300
on others; SYCL on Arc B60 and B70: 1.2 to 1.5 GiB at load)."""
PROJECTOR_WORK = 0.85
"""Most that a projector's own buffers add to its weights, from reports."""


def driver_term(kind: str) -> Term | None:
    """The driver's own context; None for backends of which no figure is known, and where there is none (RPC, Metal)."""
    found = DRIVER_CONTEXT.get(kind)
    if found is None:
        return None
    size, low, high = found
    note = Text("Driver context: from reports, {low} to {high} MiB.", low=low // MIB, high=high // MIB)
    return Term("overhead", size, Known.REPORTS, low, high, note)


def host_terms(levers: Levers, rows: ContextRows) -> list[Term]:
    """Logits (exact), then what grows while it serves: the prompt cache and the checkpoints, from 0 to their limits."""
    sizes, shape = rows.sizes, rows.shape
    logits = shape.vocabulary * 4 * max(sizes.slots, sizes.outputs)
    terms = [Term("overhead", logits, Known.SOURCE, logits, logits, None)]
    checkpoints = _checkpoints(levers, rows)
    if checkpoints:
        terms.append(Term("overhead", 0, Known.SOURCE, 0, checkpoints,
                          Text("Context checkpoints may grow to {size} of RAM.", size=bytes_text(checkpoints, 1))))
    if levers.cache_ram_mib > 0:
        limit = levers.cache_ram_mib * MIB
        terms.append(Term("overhead", 0, Known.SOURCE, 0, limit,
                          Text("The prompt cache (--cache-ram) may grow to {size} of RAM.",
                               size=bytes_text(limit, 1))))
    return terms


def _checkpoints(levers: Levers, rows: ContextRows) -> int:
    """Bytes when every slot holds all its checkpoints: the window's cells of a sequence and one recurrent state."""
    sizes, shape = rows.sizes, rows.shape
    if levers.checkpoints <= 0:
        return 0
    one = 0
    for part in parts(shape, sizes):
        if part.kind == "state":
            one += part.nbytes // max(1, sizes.slots * (1 + sizes.states))
        elif shape.windowed and shape.swa[part.layer] and not sizes.swa_full:
            cells = cells_of(shape, sizes, part.layer)
            held = min(shape.window + sizes.ubatch, cells)
            one += part.nbytes * held // max(1, cells * sizes.streams)
    per_slot = sizes.context if sizes.unified else sizes.cells
    count = min(levers.checkpoints, per_slot // CHECKPOINT_SPACING + 1)
    return one * count * sizes.slots


def projector_terms(projector: ModelFile | None, levers: Levers, rows: ContextRows) -> tuple[int, list[Term]]:
    """(device index or HOST, terms) of a projector: its tensors, and a band for its own buffers."""
    if projector is None:
        return HOST, []
    size = projector.tensor_bytes
    term = Term("projector", size, Known.REPORTS, size, int(size * (1 + PROJECTOR_WORK)),
                Text("Projector: its own buffers are not known; up to {mib} MiB more, from reports.",
                     mib=int(size * PROJECTOR_WORK) // MIB))
    return _projector_device(levers, rows), [term]


def _projector_device(levers: Levers, rows: ContextRows) -> int:
    devices = rows.placement.devices
    if not devices or not levers.projector_offload or levers.projector_device == "none":
        return HOST
    names: Sequence[str] = [d.name for d in devices]
    return names.index(levers.projector_device) if levers.projector_device in names else 0
