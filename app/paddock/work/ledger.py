"""How good the estimates were, and what a launch taught the next one.

Each launch leaves its estimate beside what the engine's log and the driver told of it (never a projection). A term
that lay outside its band corrects the next estimate of the same model, engine and backend: by the same proportion,
said in a note, marked as measured here, and until somebody forgets it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.fit import corrections
from paddock.fit.corrections import SLACK, TERM_IDS, TERMS, Correction, kind_of, uncorrected
from paddock.fit.model import DeviceEstimate, Estimate
from paddock.store import ledger as stored
from paddock.store.ledger import LedgerKey, LedgerRow
from paddock.text import Text
from paddock.units import MINUS

if TYPE_CHECKING:
    from paddock.engine.model import Engine
    from paddock.gguf.model import ModelFile
    from paddock.store import Database
    from paddock.work.model import Preview

LAUNCHES = 5
HOST = "Host"


@dataclass(frozen=True)
class Record:
    """How the last launches went. Percent of what was predicted: +1 means that 1 % more was used than was shown."""

    launches: int
    low_pct: float | None
    high_pct: float | None
    text: Text


class Ledger:
    """Reads the ledger of one database file, and keeps what it read until the file changes. Any thread; cheap."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._kept: dict[tuple[LedgerKey, str | None], list[list[LedgerRow]]] = {}

    def launches(self, key: LedgerKey, backends: str | None = None) -> list[list[LedgerRow]]:
        """The last launches, the newest first. Never creates or migrates a database."""
        stamp = self._now()
        with self._lock:
            if stamp != self._stamp:
                self._kept.clear()
                self._stamp = stamp
            found = self._kept.get((key, backends))
        if found is None:
            found = stored.read(self._path, key, backends, LAUNCHES)
            with self._lock:
                if stamp == self._stamp:
                    self._kept[key, backends] = found
        return found

    def _now(self) -> tuple[int, ...]:
        return stamp_of(self._path)


def stamp_of(database: Path) -> tuple[int, ...]:
    """Changes with every commit, also of another process: those go to the file beside the database first."""
    out = []
    for path in (database, database.with_name(database.name + "-wal")):
        try:
            stat = path.stat()
            out += [stat.st_mtime_ns, stat.st_size]
        except OSError:
            out.append(0)
    return tuple(out)


def key_of(model: ModelFile | None, engine: Engine | None) -> LedgerKey | None:
    """None where the model or the engine is not known."""
    return None if model is None or engine is None else key_for(model.identity, engine)


def key_for(model_identity: str, engine: Engine) -> LedgerKey:
    """An engine's version is what it prints and the build that its package tells."""
    build = engine.build or engine.package_build
    version = f"{engine.version or ''} {build or ''}".strip()
    return LedgerKey(model_identity, str(engine.path), version)


def backends_of(estimate: Estimate) -> str:
    """The backends that this plan uses: "cuda", "cuda+rpc"; "host" where nothing is offloaded."""
    kinds = {kind_of(d) for d in estimate.devices if d.name != HOST and d.model + d.context + d.compute + sum(d.draft)}
    return "+".join(sorted(kinds)) or "host"


# -- the record


def record(launches: Sequence[Sequence[LedgerRow]]) -> Record:
    """Of the given launches: the least and the greatest difference of all memory that the breakdown covers."""
    found = []
    for rows in launches:
        counted = [r for r in rows if r.term in TERMS]
        shown = sum(r.shown for r in counted)
        if shown:
            found.append(100 * (sum(r.actual for r in counted) - shown) / shown)
    if not found:
        return Record(0, None, None, Text("never launched here"))
    low, high = min(found), max(found)
    if _pct(low) == _pct(high):
        text = Text("Last launch of this model: {low} %", plural="Last {count} launches of this model: {low} %",
                    count=len(found), low=_pct(low))
    else:
        text = Text("Last launch of this model: {low} … {high} %",
                    plural="Last {count} launches of this model: {low} … {high} %", count=len(found), low=_pct(low),
                    high=_pct(high))
    return Record(len(found), low, high, text)


def _pct(value: float) -> str:
    rounded = round(value, 1)
    return f"{MINUS if rounded < 0 else '+' if rounded > 0 else ''}{abs(rounded):.1f}"


# -- what a launch leaves


def keep(database: Database, session_id: int, preview: Preview, actual: Mapping[str, Any], ended: bool) -> None:
    """Queue this launch's rows: the buffers once it is ready, what lies outside of them when it has `ended`."""
    key = key_of(preview.model, preview.engine)
    if key is None or preview.estimate is None:
        return
    rows = overhead_rows(preview.estimate, actual) if ended else buffer_rows(preview.estimate, actual)
    if rows:
        stored.write(database, session_id, key, backends_of(preview.estimate), rows)


def buffer_rows(shown: Estimate, actual: Mapping[str, Any]) -> list[LedgerRow]:
    """Model, context and compute of each device. Empty where the log did not tell, or told of other devices."""
    raw = uncorrected(shown)
    if not actual.get("main") or raw.rejected is not None:
        return []
    out: list[LedgerRow] = []
    for role in ("main", "draft"):
        used = {r["name"]: r for r in actual.get(role) or ()}
        if any(r["model"] + r["context"] + r["compute"] and raw.device(name) is None for name, r in used.items()):
            return []
        for device in raw.devices if used else ():
            told = shown.device(device.name) or device
            for i, term in enumerate(TERMS):
                estimated, was_shown = _figure(device, role, i), _figure(told, role, i)
                took = int(used.get(device.name, {}).get(term, 0))
                if estimated or took:
                    low, high = _band(device, role, term, estimated)
                    out.append(LedgerRow(device.name, kind_of(device), role, term, estimated, low, high, was_shown,
                                         took))
    return out


def overhead_rows(shown: Estimate, actual: Mapping[str, Any]) -> list[LedgerRow]:
    """What the driver says our processes held at most, less what the log accounts for, per card."""
    raw = uncorrected(shown)
    told: dict[str, int] = {}
    for role in ("main", "draft"):
        for row in actual.get(role) or ():
            told[row["name"]] = told.get(row["name"], 0) + row["model"] + row["context"] + row["compute"]
    out = []
    for name, peak in (actual.get("measured") or {}).items():
        device, took = raw.device(name), peak.get("process_bytes")
        if device is None or name == HOST or not took or not told.get(name):
            continue
        terms = [t for t in device.terms if t.id in ("overhead", "projector")]
        estimated = device.overhead + device.projector
        after = shown.device(name) or device
        out.append(LedgerRow(name, kind_of(device), "main", "overhead", estimated, sum(t.low for t in terms),
                             sum(t.high for t in terms), after.overhead + after.projector,
                             max(0, int(took) - told[name])))
    return out


def _figure(device: DeviceEstimate, role: str, index: int) -> int:
    return device.draft[index] if role == "draft" else (device.model, device.context, device.compute)[index]


def _band(device: DeviceEstimate, role: str, term: str, estimated: int) -> tuple[int, int]:
    found = next((t for t in device.terms if t.id == TERM_IDS[term]), None) if role == "main" else None
    return (found.low, found.high) if found is not None else (estimated, estimated)


# -- what it teaches


def taught(launches: Sequence[Sequence[LedgerRow]]) -> tuple[Correction, ...]:
    """What the launches (the newest first) showed beyond the bands.

    Pure. The newest row of each device and term counts; one that was forgotten, or was right, corrects nothing.
    """
    newest: dict[tuple[str, str, str, str], LedgerRow] = {}
    for rows in launches:
        for row in rows:
            newest.setdefault((row.device, row.kind, row.role, row.term), row)
    return tuple(Correction(*key, r.estimated, r.actual) for key, r in newest.items()
                 if not r.forgotten and not r.low - SLACK <= r.actual <= r.high + SLACK)


def corrected(estimate: Estimate, launches: Sequence[Sequence[LedgerRow]]) -> Estimate:
    """The estimate with what these launches taught; the same value where they taught nothing. Pure."""
    return corrections.corrected(estimate, taught(launches))
