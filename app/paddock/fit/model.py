"""The estimate as values. All sizes are bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from paddock.launch.model import Plan
from paddock.text import Text


class Verdict(StrEnum):
    FITS = "fits"
    TIGHT = "tight"
    WONT_FIT = "wont_fit"
    CANT_TELL = "cant_tell"


class Known(StrEnum):
    """Design rule 13: how a figure is known."""

    MEASURED = "measured here"
    CHECKED = "checked by running"
    SOURCE = "from the source"
    REPORTS = "from reports"


@dataclass(frozen=True)
class Budget:
    """A device as the estimate sees it: the engine's name, backend kind, total and free bytes (None = unknown)."""

    name: str
    kind: str
    total_bytes: int | None
    free_bytes: int | None
    integrated: bool = False
    description: str = ""
    same_as: str | None = None
    """An earlier device that is this very card through another backend: llama.cpp takes one of the two by itself."""
    free_assumed: bool = False
    """free_bytes is only what its backend calls free that cannot count: an upper edge."""
    shares_host: bool = False
    """Its memory is the host's: what both need together must be free."""


@dataclass(frozen=True)
class Band:
    """A figure that is not exact: low ≤ truth ≤ high, and why."""

    low: int
    high: int
    known: Known
    reason: Text


@dataclass(frozen=True)
class Term:
    """One part of a device's memory. `id`: weights, kv, compute, draft, projector, overhead."""

    id: str
    bytes: int
    known: Known
    low: int
    high: int
    note: Text | None = None


@dataclass(frozen=True)
class DeviceEstimate:
    """One device. model/context/compute mean what llama.cpp's memory breakdown means by them (main context).

    `draft` holds the same three for a draft or MTP context. `name` "Host" is the last row.
    """

    name: str
    model: int
    context: int
    compute: int
    draft: tuple[int, int, int] = (0, 0, 0)
    projector: int = 0
    overhead: int = 0
    terms: tuple[Term, ...] = ()
    budget: Budget | None = None
    other_bytes: int | None = None
    """Held by other processes (total - free before the launch)."""
    margin: int = 0
    verdict: Verdict = Verdict.CANT_TELL
    mapped: bool = False
    """Its weights are pages of the file, which the system gives back when memory runs short."""

    @property
    def total(self) -> int:
        return self.model + self.context + self.compute + sum(self.draft) + self.projector + self.overhead

    @property
    def high(self) -> int:
        """The upper edge of the band."""
        return sum(t.high for t in self.terms) if self.terms else self.total

    @property
    def left(self) -> int | None:
        """Bytes that stay free (negative: over), or None when the free memory is not known."""
        free = self.budget.free_bytes if self.budget else None
        return None if free is None else free - self.total


@dataclass(frozen=True)
class Fix:
    """A change that makes it fit, or an idea. `sets` says what, `effect` what it frees and costs; `plan` the result."""

    id: str
    sets: Text
    effect: Text
    plan: Plan
    freed: int = 0
    device: str | None = None
    speed_change: float | None = None
    """Fraction by which the speed that memory allows changes (−0.02: 2 % slower); None where that is not known."""
    verdict: Verdict | None = None
    """Of the plan with it."""


@dataclass(frozen=True)
class Estimate:
    """The answer. `rejected`: llama.cpp would refuse this plan, and why. `reason` explains the verdict in a line."""

    devices: tuple[DeviceEstimate, ...]
    verdict: Verdict
    reason: Text
    context_length: int | None = None
    """Cells in all, after llama.cpp's rounding."""
    slots: int | None = None
    unified: bool | None = None
    context_per_slot: int | None = None
    kv_bytes_per_token: float | None = None
    layers_offloaded: tuple[int, int] | None = None
    """(on GPUs, of), the output layer counted."""
    rejected: Text | None = None
    notes: tuple[Text, ...] = ()
    has_draft: bool = False
    known: Known = Known.SOURCE
    ms: float = 0.0
    rules: str = ""
    extra: dict[str, object] = field(default_factory=dict)
    doubt: Text | None = None
    """Why no more than "won't fit" can be told, whatever the figures: parts are missing."""

    def device(self, name: str) -> DeviceEstimate | None:
        return next((d for d in self.devices if d.name == name), None)
