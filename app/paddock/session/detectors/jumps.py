"""Steps in the memory that the server's processes hold, each with the request that was under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paddock.session.detectors.model import HOST, Columns
from paddock.session.model import Request
from paddock.units import MIB

LEAST_BYTES = 32 * MIB
_BEFORE_S = 1.5
"""A reading may come so long after what it shows: readings are about a second apart."""


@dataclass(frozen=True)
class Jump:
    """`bytes` more (below 0: less) than at the reading before, seen at `t`. `request`: the number of the one that ran;
    None where none or several did: then nobody can tell."""

    t: float
    device: str
    bytes: float
    request: int | None


def jumps_of(series: Columns, devices: Sequence[str], requests: Sequence[Request], start: float, end: float,
             least: float = LEAST_BYTES) -> list[Jump]:
    """Between two moments, the oldest first. Cards by what our processes hold there, "Host" by resident memory."""
    found = []
    for device in (*devices, HOST):
        name = "process_rss_bytes" if device == HOST else f"{device}.process_bytes"
        if name not in series.names:
            continue
        t, held = series.view(name, start, end)
        known = ~np.isnan(held)
        t, held = t[known], held[known].astype(np.float64)
        steps = np.diff(held)
        for i in np.flatnonzero(np.abs(steps) >= least):
            moment = float(t[i + 1])
            found.append(Jump(moment, device, float(steps[i]), _cause(requests, moment)))
    return sorted(_joined(found), key=lambda j: j.t)


def _joined(jumps: list[Jump]) -> list[Jump]:
    """A load comes in many steps in a row: of those one is made."""
    out: list[Jump] = []
    for jump in jumps:
        last = out[-1] if out else None
        if last is not None and last.device == jump.device and jump.t - last.t <= 2 * _BEFORE_S and (
                (last.bytes > 0) == (jump.bytes > 0)) and last.request == jump.request:
            out[-1] = Jump(last.t, jump.device, last.bytes + jump.bytes, jump.request)
        else:
            out.append(jump)
    return out


def _cause(requests: Sequence[Request], moment: float) -> int | None:
    running = [r.number for r in requests
               if r.t_start <= moment and (r.t_end is None or r.t_end >= moment - _BEFORE_S)]
    return running[0] if len(running) == 1 else None
