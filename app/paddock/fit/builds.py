"""Which build's compute rules stand behind the figures, and how wide the band is for an engine of another.

Weights and cache follow the file and the flags in every build that takes them; compute buffers follow the graph and the
allocator, which change. Known to the byte is build 11434 alone. Of an older one (10434, Vulkan) fewer copies were seen
in the compute buffers: 2 of 4 and 3F+2E of 3F+4E (version and backend not told apart), hence the band below.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from paddock.errors import AppError
from paddock.fit.judging import rejudged
from paddock.fit.model import DeviceEstimate, Estimate, Known, Term
from paddock.text import Text

KNOWN = "11434"
OLDER, NEWER = "older", "newer"
_BANDS = {OLDER: (0.5, 1.25), NEWER: (0.75, 1.25)}


def rules_of(build: str | int | None) -> str:
    """KNOWN, OLDER or NEWER for a build's number; KNOWN for none. AppError for what is no number."""
    words = "" if build is None else str(build).strip().removeprefix("b")
    if not words:
        return KNOWN
    if not words.isdecimal():
        raise AppError(Text("“{rules}” is no build of llama.cpp.", rules=words),
                       hint=Text("Give its number, like 11434."))
    number = int(words)
    return KNOWN if number == int(KNOWN) else OLDER if number < int(KNOWN) else NEWER


def by_rules(found: Estimate, rules: str) -> Estimate:
    """The estimate with the bands of that build's compute, judged anew; the same value for the known build."""
    if rules not in _BANDS or not found.devices:
        return found
    low, high = _BANDS[rules]
    values: dict[str, Any] = {"known": KNOWN, "low": round(100 * (low - 1)), "high": f"+{round(100 * (high - 1))}"}
    note = (Text("Compute follows the rules of build {known}; this engine is older: {low} to {high} %.", **values)
            if rules == OLDER else
            Text("Compute follows the rules of build {known}; this engine is newer: {low} to {high} %.", **values))
    devices = [_widened(device, low, high, note) for device in found.devices]
    return rejudged(replace(found, notes=(note, *found.notes), known=Known.SOURCE, rules=rules), devices)


def _widened(device: DeviceEstimate, low: float, high: float, note: Text) -> DeviceEstimate:
    def wide(term: Term) -> Term:
        if term.id != "compute" or not term.bytes:
            return term
        return replace(term, known=Known.REPORTS, low=min(term.low, int(term.bytes * low)),
                       high=max(term.high, int(term.bytes * high)), note=note)

    return replace(device, terms=tuple(wide(t) for t in device.terms))
