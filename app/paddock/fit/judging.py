"""The rules of the verdict: of one device, of the whole, and the reason in a line.

One place for them, so that an estimate whose figures or free memory moved (a correction, a program that is closed) is
judged as the first one was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paddock.fit.model import DeviceEstimate, Estimate, Verdict
from paddock.text import Text
from paddock.units import gib_text

ORDER = (Verdict.WONT_FIT, Verdict.CANT_TELL, Verdict.TIGHT, Verdict.FITS)
"""The worst first: the worst device decides."""


def rejudged(found: Estimate, devices: Sequence[DeviceEstimate] | None = None) -> Estimate:
    """The estimate with these rows (None: its own), each of them and the whole judged anew. Pure; no rows: as it is."""
    rows = tuple(device_judged(d) for d in (found.devices if devices is None else devices))
    if not rows or found.rejected is not None:
        return found
    worst = min(_counted(rows), key=lambda r: ORDER.index(r.verdict))
    verdict, reason = worst.verdict, reason_of(worst, rows)
    pooled = _pooled(rows)
    if pooled is not None and ORDER.index(pooled[0]) < ORDER.index(verdict):
        verdict, reason = pooled
    if found.doubt is not None and verdict is not Verdict.WONT_FIT:
        verdict, reason = Verdict.CANT_TELL, found.doubt
    return replace(found, devices=rows, verdict=verdict, reason=reason)


def _counted(rows: Sequence[DeviceEstimate]) -> Sequence[DeviceEstimate]:
    """All rows, without a RAM that was not given (a request about cards alone) where cards hold something."""
    cards = [r for r in rows if r.name != "Host"]
    told = any(r.budget is not None and r.budget.free_bytes is not None for r in rows if r.name == "Host")
    return rows if told or not any(r.total for r in cards) else cards


def device_judged(row: DeviceEstimate) -> DeviceEstimate:
    """Fits: the upper edge keeps the margin. Tight: it fits, but not that. Host: mapped weights can be given back."""
    left = row.left
    if row.total == 0 and row.high == 0:
        verdict = Verdict.FITS
    elif left is None:
        verdict = Verdict.CANT_TELL
    elif left < 0:
        verdict = Verdict.TIGHT if row.mapped and left + row.model >= 0 else Verdict.WONT_FIT
    elif row.high > row.total + left or left < row.margin:
        verdict = Verdict.TIGHT
    else:
        verdict = Verdict.FITS
    return row if verdict is row.verdict else replace(row, verdict=verdict)


def reason_of(worst: DeviceEstimate, rows: Sequence[DeviceEstimate]) -> Text:
    """Why the verdict is what it is: of the worst device, or where all fit, of the one that keeps least."""
    name, left = device_name(worst), worst.left
    if worst.verdict is Verdict.CANT_TELL or left is None:
        return Text("The free memory of {device} is not known.", device=name)
    if worst.verdict is Verdict.WONT_FIT:
        return Text("{device} is {over} GiB short: it needs {need} of {free} GiB free.", device=name,
                    over=gib_text(-left), need=gib_text(worst.total), free=gib_text(worst.total + left))
    if worst.verdict is Verdict.TIGHT:
        return _tight_reason(worst, name, left)
    gpus = [r for r in rows if r.name != "Host" and r.total and r.left is not None]
    least = min(gpus, key=lambda r: r.left or 0) if gpus else worst
    return Text("{device} keeps {left} GiB free.", device=device_name(least), left=gib_text(least.left))


def _pooled(rows: Sequence[DeviceEstimate]) -> tuple[Verdict, Text] | None:
    """Where graphics take the host's memory each row alone may fit and both together not: there is one memory.

    None where nothing is shared, the host's memory is not known, or all keep the margin together.
    """
    host = next((row for row in rows if row.name == "Host"), None)
    sharing = [row for row in rows if row.total and row.budget is not None and row.budget.shares_host]
    if host is None or host.left is None or not sharing:
        return None
    need = host.total + sum(row.total for row in sharing)
    free = host.total + host.left
    margin = max(row.margin for row in sharing)
    names = ", ".join(row.name for row in sharing)
    if need > free:
        mapped = host.model if host.mapped else 0
        return (Verdict.TIGHT if need - mapped <= free else Verdict.WONT_FIT,
                Text("{devices} and the processor share one memory: together they need {need} of {free} GiB free.",
                     devices=names, need=gib_text(need), free=gib_text(free)))
    if free - need < margin:
        return Verdict.TIGHT, Text("{devices} and the processor share one memory: {left} GiB of it stay free, under "
                                   "the margin of {margin}.", devices=names, left=gib_text(free - need),
                                   margin=gib_text(margin))
    return None


def device_name(row: DeviceEstimate) -> Text | str:
    """How a person calls it."""
    return Text("RAM") if row.name == "Host" else row.name


def _tight_reason(worst: DeviceEstimate, name: Text | str, left: int) -> Text:
    if left < 0:
        return Text("The weights do not stay in RAM whole: they are mapped, and read from the disk again and again.")
    if left < worst.margin:
        return Text("{device} keeps {left} GiB free, under the margin of {margin}.", device=name, left=gib_text(left),
                    margin=gib_text(worst.margin))
    return Text("{device} keeps {left} GiB free at first, but may need {more} GiB more.", device=name,
                left=gib_text(left), more=gib_text(worst.high - worst.total))
