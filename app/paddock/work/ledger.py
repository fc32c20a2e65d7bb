"""How good the estimates were, and what a launch taught the next one.

Each launch leaves its estimate beside what the engine's log and the driver told of it (never a projection). A term
that lay outside its band corrects the next estimate of the same model, engine and backend: by the same proportion,
said in a note, marked as measured here, and until somebody forgets it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.fit.model import DeviceEstimate, Estimate, Known, Term, Verdict
from paddock.store import ledger as stored
from paddock.store.ledger import LedgerKey, LedgerRow
from paddock.text import Text
from paddock.units import MIB, MINUS, gib_text

if TYPE_CHECKING:
    from paddock.engine.model import Engine
    from paddock.gguf.model import ModelFile
    from paddock.store import Database
    from paddock.work.model import Preview

LAUNCHES = 5
SLACK = 2 * MIB
"""Beyond a band by less is no reason to correct: the engine rounds Host and its repacked weights down to whole MiB."""
HOST = "Host"
RAW = "uncorrected"
"""Key of `Estimate.extra`: the estimate as it was before corrections."""
TERMS = ("model", "context", "compute")
_TERM_IDS = {"model": "weights", "context": "kv", "compute": "compute", "overhead": "overhead"}
_ORDER = (Verdict.WONT_FIT, Verdict.CANT_TELL, Verdict.TIGHT, Verdict.FITS)


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
        """Changes with every commit, also of another process: those go to the file beside the database first."""
        out = []
        for path in (self._path, self._path.with_name(self._path.name + "-wal")):
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
    kinds = {_kind(d) for d in estimate.devices if d.name != HOST and d.model + d.context + d.compute + sum(d.draft)}
    return "+".join(sorted(kinds)) or "host"


def _kind(device: DeviceEstimate) -> str:
    return "host" if device.name == HOST or device.budget is None else device.budget.kind.lower()


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
    raw = _raw(shown)
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
                    out.append(LedgerRow(device.name, _kind(device), role, term, estimated, low, high, was_shown, took))
    return out


def overhead_rows(shown: Estimate, actual: Mapping[str, Any]) -> list[LedgerRow]:
    """What the driver says our processes held at most, less what the log accounts for, per card."""
    raw = _raw(shown)
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
        out.append(LedgerRow(name, _kind(device), "main", "overhead", estimated, sum(t.low for t in terms),
                             sum(t.high for t in terms), after.overhead + after.projector,
                             max(0, int(took) - told[name])))
    return out


def _raw(estimate: Estimate) -> Estimate:
    before = estimate.extra.get(RAW)
    return before if isinstance(before, Estimate) else estimate


def _figure(device: DeviceEstimate, role: str, index: int) -> int:
    return device.draft[index] if role == "draft" else (device.model, device.context, device.compute)[index]


def _band(device: DeviceEstimate, role: str, term: str, estimated: int) -> tuple[int, int]:
    found = next((t for t in device.terms if t.id == _TERM_IDS[term]), None) if role == "main" else None
    return (found.low, found.high) if found is not None else (estimated, estimated)


# -- what it teaches


def corrected(estimate: Estimate, launches: Sequence[Sequence[LedgerRow]]) -> Estimate:
    """The estimate with what the newest launches showed beyond the bands; the same value where they showed nothing.

    Pure. The newest row of each device and term counts, forgotten ones do not. `extra["uncorrected"]` is the estimate
    as it came in.
    """
    newest: dict[tuple[str, str, str, str], LedgerRow] = {}
    for rows in launches:
        for row in rows:
            newest.setdefault((row.device, row.kind, row.role, row.term), row)
    taught = {k: r for k, r in newest.items()
              if not r.forgotten and not r.low - SLACK <= r.actual <= r.high + SLACK}
    if not taught or not estimate.devices:
        return estimate
    notes: list[Text] = []
    devices = []
    for device in estimate.devices:
        changed = device
        for (name, kind, role, term), row in taught.items():
            if name == device.name and kind == _kind(device):
                changed = _shifted(changed, role, term, row, notes)
        devices.append(changed if changed is device else _judged(changed))
    if not notes:
        return estimate
    return _whole(estimate, tuple(devices), tuple(notes))


def _shifted(device: DeviceEstimate, role: str, term: str, row: LedgerRow, notes: list[Text]) -> DeviceEstimate:
    """One term moved in proportion to what the launch showed."""
    if role == "draft":
        now = device.draft[TERMS.index(term)]
    else:
        now = int(getattr(device, term))
    difference = row.actual - row.estimated
    delta = round(now * difference / row.estimated) if row.estimated else difference
    delta = max(delta, -now)
    if abs(delta) < SLACK:
        return device
    note = Text("{device}: corrected by {change} MiB {term} after the last launch.", device=device.name,
                change=f"{MINUS if delta < 0 else '+'}{abs(delta) / MIB:.0f}", term=_NAMES[role, term])
    notes.append(note)
    if role == "draft":
        three = list(device.draft)
        three[TERMS.index(term)] += delta
        return replace(device, draft=(three[0], three[1], three[2]), terms=_moved(device.terms, "draft", delta, note))
    terms = _moved(device.terms, _TERM_IDS[term], delta, note)
    return replace(device, terms=terms, model=device.model + (delta if term == "model" else 0),
                   context=device.context + (delta if term == "context" else 0),
                   compute=device.compute + (delta if term == "compute" else 0),
                   overhead=device.overhead + (delta if term == "overhead" else 0))


_NAMES = {
    ("main", "model"): Text("weights"), ("main", "context"): Text("KV cache"), ("main", "compute"): Text("compute"),
    ("main", "overhead"): Text("overhead"), ("draft", "model"): Text("draft weights"),
    ("draft", "context"): Text("draft KV cache"), ("draft", "compute"): Text("draft compute"),
}


def _moved(terms: tuple[Term, ...], identifier: str, delta: int, note: Text) -> tuple[Term, ...]:
    """The first term of that id moved, known as measured; made where there was none."""
    out, done = [], False
    for term in terms:
        if term.id == identifier and not done:
            done = True
            term = replace(term, bytes=term.bytes + delta, low=max(0, term.low + delta), known=Known.MEASURED,
                           high=max(0, term.high + delta), note=note)
        out.append(term)
    if not done:
        out.append(Term(identifier, delta, Known.MEASURED, delta, delta, note))
    return tuple(out)


def _judged(device: DeviceEstimate) -> DeviceEstimate:
    """The verdict of a device whose figures moved, by the rules that made the first one."""
    left = device.left
    if left is None or device.verdict is Verdict.CANT_TELL:
        return device
    if left < 0:
        mapped = device.name == HOST and device.verdict is Verdict.TIGHT
        return replace(device, verdict=Verdict.TIGHT if mapped else Verdict.WONT_FIT)
    tight = left < device.margin or device.high > device.total + left
    return replace(device, verdict=Verdict.TIGHT if tight else Verdict.FITS)


def _whole(estimate: Estimate, devices: tuple[DeviceEstimate, ...], notes: tuple[Text, ...]) -> Estimate:
    before = min((d.verdict for d in estimate.devices), key=_ORDER.index)
    worst = min(devices, key=lambda d: _ORDER.index(d.verdict))
    verdict, reason = estimate.verdict, estimate.reason
    if estimate.verdict is before and worst.left is not None:
        verdict = worst.verdict
        reason = _reason(worst, devices)
    return replace(estimate, devices=devices, verdict=verdict, reason=reason, notes=(*notes, *estimate.notes),
                   known=Known.MEASURED, extra={**estimate.extra, RAW: estimate})


def _reason(worst: DeviceEstimate, devices: tuple[DeviceEstimate, ...]) -> Text:
    """As the estimate itself would have said it."""
    if worst.verdict is Verdict.FITS:
        cards = [d for d in devices if d.name != HOST and d.total and d.left is not None]
        worst = min(cards, key=lambda d: d.left or 0) if cards else worst
    left = worst.left or 0
    name = Text("RAM") if worst.name == HOST else worst.name
    if worst.verdict is Verdict.WONT_FIT:
        return Text("{device} is {over} GiB short: it needs {need} of {free} GiB free.", device=name,
                    over=gib_text(-left), need=gib_text(worst.total), free=gib_text(worst.total + left))
    if worst.verdict is Verdict.FITS:
        return Text("{device} keeps {left} GiB free.", device=name, left=gib_text(left))
    if left < 0:
        return Text("The weights do not stay in RAM whole: they are mapped, and read from the disk again and again.")
    if left < worst.margin:
        return Text("{device} keeps {left} GiB free, under the margin of {margin}.", device=name, left=gib_text(left),
                    margin=gib_text(worst.margin))
    return Text("{device} keeps {left} GiB free at first, but may need {more} GiB more.", device=name,
                left=gib_text(left), more=gib_text(worst.high - worst.total))
