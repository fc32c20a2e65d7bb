"""The six figures of a run, each with its comparison, or with the reason why there is none."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtWidgets import QGridLayout, QWidget

from paddock.desktop.pages.run.usual import Usual
from paddock.desktop.parts.blocks import Figure
from paddock.desktop.plots import Setup
from paddock.desktop.tr import tr
from paddock.fit.ceiling import Ceiling
from paddock.session.model import Request
from paddock.units import GIB, bytes_text, count_text, missing, number_text, percent_text, seconds_text

_DASH = "–"


@dataclass(frozen=True)
class Shown:
    """What one figure shows: title, value, unit, note, and ok or bad where the note is a judgement."""

    title: str
    value: str
    unit: str
    note: str
    tone: str | None = None
    tip: str = ""
    """What a comparison rests on."""


@dataclass(frozen=True)
class Allowed:
    """Tokens per second that memory speed allows for one answer: with an empty context, and at `depth` tokens."""

    empty: float
    full: float
    depth: int
    basis: str = ""

    def share(self, rate: float, context: float) -> float:
        """`rate` over the bound at that context. A token's time grows evenly with the context that it reads."""
        part = min(1.0, context / self.depth) if self.depth > 0 else 0.0
        return rate * (1 / self.empty + part * (1 / self.full - 1 / self.empty))


def allowed_of(preview: Any) -> Allowed | None:
    """From a preview's speed ceilings; None where they are not known, or where a draft may go beyond them."""
    empty, full = preview.ceiling, preview.ceiling_full
    if empty is None or full is None or not empty.bound or not full.bound:
        return None
    if preview.estimate is not None and preview.estimate.has_draft:
        return None
    return Allowed(empty.bound, full.bound, full.depth, _basis(empty, full))


def _basis(empty: Ceiling, full: Ceiling) -> str:
    """What the bound rests on: bytes read a token, and whose figure each bandwidth is."""
    read = {name: size for name, size in (empty.read_bytes or {}).items() if size}
    parts = ", ".join(tr("{size} from {device}", size=bytes_text(size, 1),
                         device=tr("RAM") if name == "Host" else name) for name, size in read.items())
    whose = tr("the bandwidth that the makers publish")
    if set(read) == {"Host"}:
        whose = tr("the speed that was measured of this computer’s RAM")
    elif "Host" in read:
        whose = tr("published bandwidths, and the measured speed of this computer’s RAM")
    return tr("Memory allows {empty} t/s with an empty context and {full} t/s at {depth} tokens: each token reads "
              "{parts}, at {whose}.", empty=_rate(empty.bound), full=_rate(full.bound), depth=count_text(full.depth),
              parts=parts, whose=whose)


def _rate(value: float | None) -> str:
    return _DASH if value is None or missing(value) else number_text(value, 0 if value >= 100 else 1)


def against_usual(value: float, usual: float | None) -> tuple[str, str | None]:
    """The words and tone of a comparison with the usual speed; within 10 % it is as usual."""
    if usual is None or missing(value) or value <= 0:
        return "", None
    share = value / usual - 1
    if abs(share) < 0.1:
        return tr("as usual, {usual}", usual=_rate(usual)), None
    if share < 0:
        return tr("{percent} under the usual {usual}", percent=percent_text(-share), usual=_rate(usual)), "bad"
    return tr("{percent} over the usual {usual}", percent=percent_text(share), usual=_rate(usual)), "ok"


def _speed(title: str, live: float, last: float | None, usual: float | None, doing: str) -> Shown:
    words, tone = against_usual(live, usual)
    if not words:
        if last is not None and not missing(last):
            words = tr("last request {rate}", rate=_rate(last))
            if usual is not None:
                words = tr("last request {rate}, usual {usual}", rate=_rate(last), usual=_rate(usual))
        else:
            words = doing if missing(live) or live == 0 else tr("nothing to compare with yet")
    return Shown(title, _DASH if missing(live) or live == 0 else _rate(live), tr("t/s"), words, tone)


def generation(sample: Any, last: Request | None, usual: float | None, allowed: Allowed | None = None) -> Shown:
    """Beside the usual speed, or where it is as usual or none is known, beside what memory speed allows."""
    live = math.nan if sample is None else sample.generation_per_s
    shown = _speed(tr("Generation"), live, last.generation_per_s if last else None, usual, _nothing_yet(sample))
    busy = [slot for slot in sample.slots if slot.busy] if sample is not None else []
    if allowed is None or shown.tone is not None or missing(live) or live <= 0 or len(busy) != 1:
        return shown  # several answers at once read the weights together: the bound is that of one
    share = allowed.share(live, 0.0 if missing(sample.context_used) else sample.context_used)
    return replace(shown, note=tr("{percent} of what memory allows", percent=percent_text(share, 0)), tip=allowed.basis)


def prompt(sample: Any, last: Request | None, usual: float | None = None) -> Shown:
    live = math.nan if sample is None else sample.prompt_per_s
    if last is not None and last.prompt_per_s is not None and not last.prompt_rate_means_something:
        shown = _speed(tr("Prompt"), live, None, None, tr("last one: cached or too short"))
    else:
        shown = _speed(tr("Prompt"), live, last.prompt_per_s if last else None, usual, _nothing_yet(sample))
    return shown


def _nothing_yet(sample: Any) -> str:
    """Why there is no figure of a request."""
    busy = sample is not None and any(slot.busy for slot in sample.slots)
    return tr("the first one is under way") if busy else tr("no request yet")


def first_token(requests: Sequence[Request]) -> Shown:
    known = [r.ttft_s for r in requests if r.ttft_s is not None]
    title = tr("Time to first token")
    if not known:
        return Shown(title, _DASH, tr("s"), tr("no answer yet"))
    newest = known[-1]
    median = statistics.median(known)
    return Shown(title, number_text(newest, 2 if newest < 10 else 1), tr("s"),
                 tr("median of {count}: {median}", count=len(known), median=seconds_text(median)))


def context(sample: Any, limit: float | None) -> Shown:
    used = math.nan if sample is None else sample.context_used
    title = tr("Context used")
    if missing(used):
        return Shown(title, _DASH, tr("tokens"), tr("the server has not told") if limit is None
                     else tr("of {limit}", limit=count_text(limit)))
    note = tr("the limit is not known") if not limit else tr(
        "{percent} of {limit}", percent=percent_text(used / limit), limit=count_text(limit))
    return Shown(title, count_text(used), tr("tokens"), note)


def acceptance(sample: Any, requests: Sequence[Request], has_draft: bool) -> Shown:
    """Accepted of drafted over all requests that say so; 0 of 0 is no figure."""
    title = tr("Draft acceptance")
    drafted = sum(r.draft_tokens or 0 for r in requests)
    accepted = sum(r.accepted_tokens or 0 for r in requests)
    live = math.nan if sample is None else sample.acceptance
    if drafted:
        share = accepted / drafted
        note = tr("{accepted} of {drafted} drafted", accepted=count_text(accepted), drafted=count_text(drafted))
        return Shown(title, percent_text(share).removesuffix(" %"), "%", note)
    if not missing(live):
        return Shown(title, percent_text(live).removesuffix(" %"), "%", tr("over the last seconds"))
    return Shown(title, _DASH, "", tr("no drafts so far") if has_draft else tr("no draft model"))


def allocated_bytes(actual: Mapping[str, Any] | None, device: str) -> int | None:
    """What the engine said it allocated on a device; None where its log did not tell."""
    if not actual:
        return None
    rows = [*(actual.get("main") or ()), *(actual.get("draft") or ())]
    found = [sum(int(r.get(t) or 0) for t in ("model", "context", "compute")) for r in rows if r["name"] == device]
    return sum(found) + int((actual.get("overhead") or {}).get(device) or 0) if found else None


def memory(sample: Any, setup: Setup, actual: Mapping[str, Any] | None = None) -> Shown:
    """The device that holds the most of the model: what the server's processes hold beside what was predicted.

    RAM counts the program itself too, so there the prediction stands beside what the engine says it allocated.
    """
    predicted: Mapping[str, float] = setup.predicted_bytes
    gpus = [d for d in setup.devices if predicted.get(d, 0) > 0]
    main = max(gpus, key=lambda d: predicted[d], default="Host")
    reading = None if sample is None else sample.reading
    used = math.nan
    if reading is not None:
        found = next((d for d in reading.devices if d.device == main), None)
        used = found.process_bytes if found is not None else math.nan
        if main == "Host":
            used = reading.process_rss_bytes
        elif missing(used) and found is not None:
            return Shown(tr("Memory, {device}", device=main), number_text(found.used_bytes / GIB, 1), tr("GiB"),
                         tr("all programs; its share is not told"))
    title = tr("Memory, RAM") if main == "Host" else tr("Memory, {device}", device=main)
    expected = predicted.get(main)
    if missing(used):
        note = tr("no reading yet") if expected is None else tr("predicted {size}", size=_gib(expected))
        return Shown(title, _DASH, tr("GiB"), note)
    if expected is None:
        return Shown(title, _gib(used), tr("GiB"), tr("nothing was predicted"))
    allocated = allocated_bytes(actual, main) if main == "Host" else None
    if allocated is not None:
        return Shown(title, _gib(used), tr("GiB"), tr("allocated {size}, predicted {expected}",
                                                      size=_gib(allocated), expected=_gib(expected)))
    return Shown(title, _gib(used), tr("GiB"), tr("predicted {size}, {percent}", size=_gib(expected),
                                                  percent=percent_text(used / expected - 1, 1, signed=True)))


def _gib(value: float) -> str:
    size = value / GIB
    return number_text(size, 1 if size >= 10 else 2)


class FigureRow(QWidget):
    """Six figures beside each other, or three over three."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figures = [Figure("") for _ in range(6)]
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(0)
        self._columns = 0
        self.arrange(6)

    def arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for i, figure in enumerate(self.figures):
            self._grid.addWidget(figure, i // columns, i % columns)
        for i in range(6):
            self._grid.setColumnStretch(i, 1 if i < columns else 0)
            self._grid.setColumnMinimumWidth(i, 0)

    def show_all(self, shown: Sequence[Shown]) -> None:
        """Labels change only where the text differs."""
        for figure, one in zip(self.figures, shown, strict=True):
            figure.set_title(one.title)
            figure.show_value(one.value, one.note, one.tone, one.unit if one.value != _DASH else "")
            figure.setToolTip(one.tip)
            figure.setAccessibleDescription(one.tip)


def figures_of(snapshot: Any, setup: Setup, has_draft: bool, actual: Mapping[str, Any] | None = None,
               usual: Usual | None = None, allowed: Allowed | None = None) -> list[Shown]:
    """All six of a live run."""
    sample, requests = snapshot.sample, snapshot.requests
    last = snapshot.last_request
    usual = usual or Usual()
    return [generation(sample, last, usual.generation_per_s, allowed), prompt(sample, last, usual.prompt_per_s),
            first_token(requests),
            context(sample, setup.context_limit), acceptance(sample, requests, has_draft),
            memory(sample, setup, actual)]
