"""The table that amdgpu keeps in the file gpu_metrics: what the card's own controller says of itself.

Source: the structures gpu_metrics_v1_1 … v3_0 in the kernel's drivers/gpu/drm/amd/include/kgd_pp_interface.h (the
offsets below are theirs), and the SMU_THROTTLER_*_BIT numbers in pm/swsmu/inc/amdgpu_smu.h. Little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from paddock.hardware.sysfs import generation

_MOST = 4096
_UNTOLD = 0xFFFF
_HOTSPOT = 36
"""RDNA 3 sets this bit whenever it is busy, at full clocks too: it tells nothing, and is left out."""
_REASONS = ((range(16), "power_limit"), (range(16, 32), "current_limit"), (range(32, 46), "thermal_limit"),
            (range(46, 48), "prochot"), (range(56, 58), "reliability"))


@dataclass(frozen=True)
class Metrics:
    """What a table says, None where it does not."""

    integrated: bool
    """Tables of form 2 and 3 are those of processors with graphics, form 1 those of cards."""
    throttle: tuple[str, ...] | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    memory_pct: float | None = None


def read(path: Path) -> Metrics | None:
    """The table in a file; None where there is none, or one of an unknown form."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST)
    except OSError:
        return None
    if len(raw) < 4:
        return None
    size, form, content = struct.unpack_from("<HBB", raw)
    if form not in (1, 2, 3) or size > len(raw):
        return None
    if form == 1:
        return _card(raw, content)
    return Metrics(integrated=True, throttle=_throttle(raw, 120) if form == 2 and content >= 2 else None)


def _card(raw: bytes, content: int) -> Metrics:
    if content not in (1, 2, 3):
        return Metrics(integrated=False)
    activity, width, speed = (_half(raw, at) for at in (18, 74, 76))
    return Metrics(
        integrated=False,
        throttle=_throttle(raw, 112) if content == 3 else None,
        pcie_generation=generation(speed / 10) if speed else None,
        pcie_width=width if width and width <= 32 else None,
        memory_pct=float(activity) if activity is not None and activity <= 100 else None)


def _half(raw: bytes, at: int) -> int | None:
    if len(raw) < at + 2:
        return None
    value = int(struct.unpack_from("<H", raw, at)[0])
    return None if value == _UNTOLD else value


def _throttle(raw: bytes, at: int) -> tuple[str, ...] | None:
    if len(raw) < at + 8:
        return None
    bits = int(struct.unpack_from("<Q", raw, at)[0])
    if bits == (1 << 64) - 1:
        return None
    return tuple(name for places, name in _REASONS if any(bits >> one & 1 for one in places if one != _HOTSPOT))
