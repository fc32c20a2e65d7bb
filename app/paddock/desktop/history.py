"""How right the estimates of a model have been on this computer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.desktop.tr import tr
from paddock.units import percent_text

if TYPE_CHECKING:
    from paddock.work import Preview, Workspace


@dataclass(frozen=True)
class Record:
    """Of the last launches of this model: how much more (+) or less (−) memory they used than was estimated.

    `low`, `high`: fractions of the estimate; None while nothing was launched.
    """

    identity: str
    launches: int = 0
    low: float | None = None
    high: float | None = None

    def sentence(self) -> str:
        """Last 5 launches used −0.8 to +1.9 % against the estimate."""
        if not self.launches:
            return tr("First launch of this model here: the estimate is unchecked.")
        low, high = (percent_text(edge, 1, signed=True) for edge in (self.low, self.high))
        if low == high == percent_text(0.0, 1, signed=True):
            return tr("Last launch: memory as estimated.", plural="Last {count} launches: memory as estimated.",
                      count=self.launches)
        if low == high:
            return tr("Last launch: {off} memory against the estimate.",
                      plural="Last {count} launches: {off} memory against the estimate.", count=self.launches, off=low)
        return tr("Last launch: {low} to {high} memory against the estimate.",
                  plural="Last {count} launches: {low} to {high} memory against the estimate.", count=self.launches,
                  low=low, high=high)


def record_of(workspace: Workspace, preview: Preview) -> Record:
    """The launches of this preview's model with its engine and on such devices; off the GUI thread."""
    found = workspace.record_for(preview)
    identity = preview.model.identity if preview.model is not None else ""
    low, high = (None if edge is None else edge / 100 for edge in (found.low_pct, found.high_pct))
    return Record(identity, found.launches, low, high)
