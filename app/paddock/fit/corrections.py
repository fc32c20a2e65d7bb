"""What earlier launches showed, taken over into an estimate: by the same proportion, said in a note, judged anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paddock.fit.judging import rejudged
from paddock.fit.model import DeviceEstimate, Estimate, Known, Term
from paddock.text import Text
from paddock.units import MIB, MINUS

SLACK = 2 * MIB
"""Beyond a band by less is no reason to correct: the engine rounds Host and its repacked weights down to whole MiB."""
UNCORRECTED = "uncorrected"
"""Key of `Estimate.extra`: the estimate as it was before corrections."""
TERMS = ("model", "context", "compute")
TERM_IDS = {"model": "weights", "context": "kv", "compute": "compute", "overhead": "overhead"}
_NAMES = {
    ("main", "model"): Text("weights"), ("main", "context"): Text("KV cache"), ("main", "compute"): Text("compute"),
    ("main", "overhead"): Text("overhead"), ("draft", "model"): Text("draft weights"),
    ("draft", "context"): Text("draft KV cache"), ("draft", "compute"): Text("draft compute"),
}


@dataclass(frozen=True)
class Correction:
    """One term of one device of a launch, bytes: what the estimate said, and what it took.

    `kind`: the device's backend ("host" for Host), `role`: main or draft, `term`: model, context, compute, overhead.
    """

    device: str
    kind: str
    role: str
    term: str
    estimated: int
    actual: int


def corrected(estimate: Estimate, corrections: Sequence[Correction]) -> Estimate:
    """The estimate with the corrections of its devices; the same value where none of them moves a figure.

    Pure. `extra["uncorrected"]` is the estimate as it came in.
    """
    if not corrections or not estimate.devices:
        return estimate
    notes: list[Text] = []
    devices = []
    for device in estimate.devices:
        for one in corrections:
            if one.device == device.name and one.kind == kind_of(device):
                device = _shifted(device, one, notes)
        devices.append(device)
    if not notes:
        return estimate
    found = replace(estimate, notes=(*notes, *estimate.notes), known=Known.MEASURED,
                    extra={**estimate.extra, UNCORRECTED: estimate})
    return rejudged(found, devices)


def uncorrected(estimate: Estimate) -> Estimate:
    """The estimate as it was before corrections."""
    before = estimate.extra.get(UNCORRECTED)
    return before if isinstance(before, Estimate) else estimate


def kind_of(device: DeviceEstimate) -> str:
    """The backend, "host" for the last row."""
    return "host" if device.name == "Host" or device.budget is None else device.budget.kind.lower()


def _shifted(device: DeviceEstimate, one: Correction, notes: list[Text]) -> DeviceEstimate:
    """One term moved in proportion to what the launch showed."""
    now = device.draft[TERMS.index(one.term)] if one.role == "draft" else int(getattr(device, one.term))
    difference = one.actual - one.estimated
    delta = max(round(now * difference / one.estimated) if one.estimated else difference, -now)
    if abs(delta) < SLACK:
        return device
    note = Text("{device}: corrected by {change} MiB {term} after the last launch.", device=device.name,
                change=f"{MINUS if delta < 0 else '+'}{abs(delta) / MIB:.0f}", term=_NAMES[one.role, one.term])
    notes.append(note)
    if one.role == "draft":
        three = list(device.draft)
        three[TERMS.index(one.term)] += delta
        return replace(device, draft=(three[0], three[1], three[2]), terms=_moved(device.terms, "draft", delta, note))
    terms = _moved(device.terms, TERM_IDS[one.term], delta, note)
    return replace(device, terms=terms, model=device.model + (delta if one.term == "model" else 0),
                   context=device.context + (delta if one.term == "context" else 0),
                   compute=device.compute + (delta if one.term == "compute" else 0),
                   overhead=device.overhead + (delta if one.term == "overhead" else 0))


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
