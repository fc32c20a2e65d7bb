"""Verdicts: does a device keep its margin, and in words why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paddock.fit.model import DeviceEstimate, Verdict
from paddock.text import Text
from paddock.units import gib_text

_ORDER = (Verdict.WONT_FIT, Verdict.CANT_TELL, Verdict.TIGHT, Verdict.FITS)


def device_verdict(device: DeviceEstimate) -> Verdict:
    """One GPU against its free memory; nothing on it always fits."""
    if device.total == 0:
        return Verdict.FITS
    left = device.left
    if left is None:
        return Verdict.CANT_TELL
    if left < 0:
        return Verdict.WONT_FIT
    free = left + device.total
    return Verdict.FITS if left >= device.margin and device.high <= free else Verdict.TIGHT


def host_verdict(device: DeviceEstimate, mapped: bool, shared: int) -> Verdict:
    """The host against the RAM that is available now. Mapped weights may stay on disk, at the price of speed.

    shared: bytes that integrated devices take of the same RAM.
    """
    free = device.budget.free_bytes if device.budget else None
    if free is None:
        return Verdict.CANT_TELL
    need = device.total + shared
    if need <= free:
        return Verdict.FITS
    return Verdict.TIGHT if mapped and need - device.model <= free else Verdict.WONT_FIT


def overall(devices: Sequence[DeviceEstimate], has_gpu: bool) -> tuple[Verdict, Text]:
    """The worst verdict and its reason. A host whose RAM is not known counts only where there is no GPU."""
    counted = [d for d in devices if not (d.name == "Host" and d.verdict is Verdict.CANT_TELL and has_gpu)]
    for verdict in _ORDER:
        found = [d for d in counted if d.verdict is verdict]
        if found:
            return verdict, _reason(verdict, found)
    return Verdict.FITS, Text("Nothing is placed on a device.")


def _reason(verdict: Verdict, devices: Sequence[DeviceEstimate]) -> Text:
    if verdict is Verdict.CANT_TELL:
        return Text("The free memory of {device} is not known.", device=devices[0].name)
    used = [d for d in devices if d.total] or list(devices)
    worst = min(used, key=lambda d: (d.left if d.left is not None else 0) - d.margin)
    left = worst.left
    if worst.name == "Host":
        return _host_reason(verdict, worst)
    if left is None:
        return Text("Nothing is placed on a device.")
    if verdict is Verdict.WONT_FIT:
        return Text("{device} lacks {size} GiB.", device=worst.name, size=gib_text(-left))
    if verdict is Verdict.FITS:
        return Text("{device} keeps {size} GiB free.", device=worst.name, size=gib_text(left))
    if left >= worst.margin:
        return Text("{device} keeps {size} GiB free, but not if the estimate's upper edge comes true.", device=worst.name,
                    size=gib_text(left))
    return Text("{device} keeps {size} GiB free, under the margin of {margin}.", device=worst.name, size=gib_text(left),
                margin=gib_text(worst.margin))


def _host_reason(verdict: Verdict, host: DeviceEstimate) -> Text:
    free = host.budget.free_bytes if host.budget else None
    if verdict is Verdict.FITS:
        return Text("The host keeps {size} GiB of RAM free.", size=gib_text(host.left))
    if verdict is Verdict.TIGHT:
        return Text("The host needs {size} GiB and has {free} GiB: mapped weights will be read from disk again and again.",
                    size=gib_text(host.total), free=gib_text(free))
    return Text("The host needs {size} GiB of RAM and has {free} GiB available.", size=gib_text(host.total),
                free=gib_text(free))


def judged(devices: Sequence[DeviceEstimate], mapped: bool) -> tuple[DeviceEstimate, ...]:
    """The same devices with their verdicts."""
    shared = sum(d.total for d in devices if d.budget is not None and d.budget.integrated)
    return tuple(replace(d, verdict=host_verdict(d, mapped, shared) if d.name == "Host" else device_verdict(d))
                 for d in devices)
