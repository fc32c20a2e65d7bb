"""Predicted beside measured: what the estimate said of each device and what it became."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.desktop.tr import tr
from paddock.units import bytes_text, percent_text

_TERMS = ("model", "context", "compute", "draft", "overhead")


@dataclass(frozen=True)
class Compared:
    """One line; bytes, None where one side says nothing of it."""

    device: str
    term: str
    predicted: int | None
    measured: int | None

    @property
    def difference(self) -> str:
        """ "+0.6 %", or bytes where a ratio says nothing."""
        if self.predicted is None or self.measured is None:
            return "–"
        gap = self.measured - self.predicted
        if not gap:
            return "="
        sign = "+" if gap > 0 else ""
        if self.predicted < 64 << 20:
            return sign + bytes_text(gap)
        return f"{sign}{bytes_text(gap)}, {percent_text(gap / self.predicted, 1, signed=True)}"


def term_word(term: str) -> str:
    return {"model": tr("Weights"), "context": tr("Context (KV)"), "compute": tr("Compute"), "draft": tr("Draft"),
            "overhead": tr("Overhead"), "total": tr("Total"), "process": tr("Held by the server, peak"),
            "at_exit": tr("At the end, as the engine says")}[term]


def _sums(answer: Mapping[str, Any] | None) -> dict[str, dict[str, int]]:
    """Device → term → bytes, of an answer in the form of `fit`."""
    out: dict[str, dict[str, int]] = {}
    if not answer:
        return out
    for row in answer.get("main") or ():
        out.setdefault(row["name"], {}).update({t: int(row.get(t) or 0) for t in ("model", "context", "compute")})
    for row in answer.get("draft") or ():
        out.setdefault(row["name"], {})["draft"] = sum(int(row.get(t) or 0) for t in ("model", "context", "compute"))
    for name, size in (answer.get("overhead") or {}).items():
        out.setdefault(name, {})["overhead"] = int(size or 0)
    return out


def compare(estimate: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> list[Compared]:
    """Lines by device: each term that either side has, the total, and the peak that the driver showed."""
    predicted, measured = _sums(estimate), _sums(actual)
    readings = (actual or {}).get("measured") or {}
    out: list[Compared] = []
    for name in dict.fromkeys([*predicted, *measured, *readings]):
        mine, theirs = predicted.get(name), measured.get(name)
        lines = [Compared(name, term, _of(mine, term), _of(theirs, term)) for term in _TERMS
                 if (mine or {}).get(term) or (theirs or {}).get(term)]
        out += lines
        if len(lines) > 1:
            out.append(Compared(name, "total", _total(mine), _total(theirs)))
        peak = (readings.get(name) or {}).get("process_bytes")
        if peak:
            # RAM holds the program itself too: no prediction stands against it.
            out.append(Compared(name, "process", None if name == "Host" else _total(mine), int(peak)))
    return out


def _of(side: Mapping[str, int] | None, term: str) -> int | None:
    return None if side is None else side.get(term, 0)


def _total(side: Mapping[str, int] | None) -> int | None:
    return None if side is None else sum(side.values())


def table_rows(lines: list[Compared]) -> list[tuple[tuple[str, Any], ...]]:
    """For a PlainTable: device, part, predicted, measured, difference."""
    out: list[tuple[tuple[str, Any], ...]] = []
    before = ""
    for line in lines:
        device = line.device if line.device != before else ""
        before = line.device
        out.append(((device, line.device), (term_word(line.term), line.term),
                    (_size(line.predicted), float(line.predicted or -1)),
                    (_size(line.measured), float(line.measured or -1)),
                    (line.difference, line.difference)))
    return out


def _size(value: int | None) -> str:
    return "–" if value is None else bytes_text(value)


def main_device(lines: list[Compared]) -> tuple[str, int | None, int | None] | None:
    """The device with the largest prediction: name, predicted, measured peak (else the sum of what was allocated)."""
    totals: dict[str, tuple[int | None, int | None]] = {}
    for line in lines:
        # Lines come as terms, total, peak: the later one says more.
        peak = line.term == "process"
        if (line.term == "total" or (peak and line.device != "Host")) or line.device not in totals:
            totals[line.device] = (line.predicted, line.measured)
    if not totals:
        return None
    gpus = {d: v for d, v in totals.items() if d != "Host" and (v[0] or v[1])} or totals
    best = max(gpus, key=lambda d: gpus[d][0] or gpus[d][1] or 0)
    return best, *totals[best]
