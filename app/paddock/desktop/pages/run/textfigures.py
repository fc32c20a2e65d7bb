"""The six figures of a server that embeds or ranks texts: it generates nothing, so speed is texts and batches."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.desktop.pages.run.figures import Shown, memory
from paddock.desktop.plots import Setup
from paddock.desktop.tr import tr
from paddock.session.model import Request
from paddock.units import count_text, missing, number_text, percent_text, seconds_text

_DASH = "–"
_NEWEST = 50
_LOOK_BACK_S = 60.0


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1


def _newest(series: Any, name: str) -> float:
    """The newest figure of a column within the last minute, for what is known only while work is done."""
    span = series.span()
    if span is None:
        return math.nan
    _, values = series.view(name, span[1] - _LOOK_BACK_S)
    known = [float(v) for v in values if not math.isnan(v) and v > 0]
    return known[-1] if known else math.nan


def texts(series: Any, count: int) -> Shown:
    rate = series.last("requests_per_s")
    note = tr("{texts} so far, each text counts", texts=count_text(count)) if count else tr("no text yet")
    return Shown(tr("Texts"), _DASH if missing(rate) or rate == 0 else number_text(rate, _digits(rate)), tr("/s"), note)


def prompt(sample: Any, series: Any) -> Shown:
    """The live speed; beside it the newest, since a batch is read faster than one looks."""
    live = math.nan if sample is None else sample.prompt_per_s
    newest = _newest(series, "prompt_per_s")
    shown = _DASH if missing(live) or live == 0 else number_text(live, _digits(live))
    note = tr("no text yet") if missing(newest) else tr("last {rate}", rate=number_text(newest, _digits(newest)))
    return Shown(tr("Prompt"), shown, tr("t/s"), note)


def fill(series: Any, micro_batch: int | None) -> Shown:
    newest = _newest(series, "batch_fill")
    title = tr("Batch fill")
    if missing(newest):
        return Shown(title, _DASH, "%", tr("no batch in the last minute"))
    value = percent_text(newest).removesuffix(" %")
    if micro_batch is None:
        return Shown(title, value, "%", "")
    return Shown(title, value, "%", tr("{tokens} of {size} tokens a batch", tokens=count_text(newest * micro_batch),
                                       size=count_text(micro_batch)))


def answer_time(requests: Sequence[Request]) -> Shown:
    known = [r.t_end - r.t_start for r in requests if r.t_end is not None and r.status == "done"]
    title = tr("Time for a text")
    if not known:
        return Shown(title, _DASH, tr("s"), tr("no answer yet"))
    last = known[-1]
    newest = known[-_NEWEST:]
    return Shown(title, number_text(last, 3 if last < 0.1 else 2 if last < 10 else 1), tr("s"),
                 tr("median of {count}: {median}", count=len(newest),
                    median=seconds_text(statistics.median(newest))))


def waiting(sample: Any, setup: Setup) -> Shown:
    value = math.nan if sample is None else sample.requests_waiting
    busy = math.nan if sample is None else sample.requests_processing
    note = tr("the server has not told") if missing(busy) else tr(
        "{busy} of {slots} slots busy", busy=count_text(busy), slots=str(setup.slots))
    return Shown(tr("Waiting"), _DASH if missing(value) else count_text(value), tr("texts"), note)


def text_figures_of(snapshot: Any, series: Any, setup: Setup, micro_batch: int | None,
                    actual: Mapping[str, Any] | None = None) -> list[Shown]:
    """All six, in the places of a generating server's."""
    sample = snapshot.sample
    return [texts(series, snapshot.request_count), prompt(sample, series), fill(series, micro_batch),
            answer_time(snapshot.requests), waiting(sample, setup), memory(sample, setup, actual)]
