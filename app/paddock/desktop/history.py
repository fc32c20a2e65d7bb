"""How right the estimates of a model have been on this computer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddock.desktop.tr import tr
from paddock.units import percent_text

if TYPE_CHECKING:
    from paddock.work import Workspace

_LAUNCHES = 5
_PARTS = ("model", "context", "compute")


@dataclass(frozen=True)
class Record:
    """`off`: (predicted - measured) / measured of the last launches of this model, the newest first."""

    identity: str
    off: tuple[float, ...] = ()

    def sentence(self) -> str:
        """Last 5 launches: the estimate was −0.8 to +1.9 % off."""
        if not self.off:
            return tr("First launch of this model here: the estimate is unchecked.")
        low, high = (percent_text(edge(self.off), 1, signed=True) for edge in (min, max))
        if low == high:
            return tr("Last launch: the estimate was {off} off.",
                      plural="Last {count} launches: the estimate was {off} off.", count=len(self.off), off=low)
        return tr("Last launch: the estimate was {low} to {high} off.",
                  plural="Last {count} launches: the estimate was {low} to {high} off.", count=len(self.off),
                  low=low, high=high)


def record_of(workspace: Workspace, identity: str) -> Record:
    """Reads the last sessions of this model; off the GUI thread."""
    found: list[float] = []
    for row in workspace.sessions():
        if row.model_identity != identity:
            continue
        detail = workspace.session(row.id)
        off = _off(detail.estimate, detail.actual)
        if off is not None:
            found.append(off)
        if len(found) == _LAUNCHES:
            break
    return Record(identity, tuple(found))


def _off(estimate: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> float | None:
    predicted, measured = _sum(estimate), _sum(actual)
    return (predicted - measured) / measured if predicted and measured else None


def _sum(answer: Mapping[str, Any] | None) -> int:
    """What llama.cpp's own breakdown covers, over all devices."""
    rows = [*((answer or {}).get("main") or ()), *((answer or {}).get("draft") or ())]
    return sum(int(row.get(part) or 0) for row in rows for part in _PARTS)
