"""Embedding and reranking servers: texts a second and how full batches are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from paddock.server.model import LogLine
from paddock.session import Recorder, Sample
from paddock.session.batching import BatchRates, texts_per_s

LAUNCH = "0.01.000.000 I slot launch_slot_: id  0 | task {0} | processing task, is_child = 0"
RELEASE = "0.01.500.000 I slot      release: id  0 | task {0} | stop processing: n_tokens = 7, truncated = 0"


def sample(t: float, counters: dict[str, float] | None = None, answered: bool = True) -> Sample:
    return Sample(t, 0.0, 0.0, 0.0, 0.0, 0.0, math.nan, (), None, answered, counters=counters)


def told(tokens: float, steps: float) -> dict[str, float]:
    return {"prompt_tokens_total": tokens, "n_decode_total": steps}


def test_texts_are_counted_over_the_last_seconds_and_fall_to_nought_when_idle() -> None:
    rates = BatchRates(512)
    seen = [rates.feed(sample(t), ended, None)["requests_per_s"] for t, ended in
            ((0.0, 0), (1.0, 10), (5.0, 50), (6.0, 50), (11.0, 50), (12.0, 50))]
    assert math.isnan(seen[0])
    assert seen[1:3] == [10.0, 10.0]
    assert seen[-1] == 0.0


def test_without_an_answer_nothing_is_known() -> None:
    rates = BatchRates(512)
    rates.feed(sample(0.0), 0, None)
    assert math.isnan(rates.feed(sample(1.0, answered=False), 4, None)["requests_per_s"])


def test_the_fill_is_tokens_a_decode_over_the_micro_batch() -> None:
    rates = BatchRates(2048)
    fills = [rates.feed(sample(t, counters), 0, 512)["batch_fill"] for t, counters in (
        (0.0, told(0, 0)), (1.0, told(117, 1)), (2.0, told(117, 1)), (3.0, None), (4.0, told(629, 2)))]
    assert [None if math.isnan(f) else round(f, 4) for f in fills] == [None, 0.2285, None, None, 1.0]


@pytest.mark.parametrize("counters", [{}, told(5, 1), {"prompt_tokens_total": 4000.0}])
def test_a_restart_or_odd_counters_are_a_gap(counters: dict[str, float]) -> None:
    rates = BatchRates(512)
    rates.feed(sample(0.0, told(1000, 9)), 50, None)
    found = rates.feed(sample(1.0, counters), 0, None)
    assert math.isnan(found["batch_fill"])
    assert math.isnan(found["requests_per_s"])


def test_the_recorder_keeps_both_with_the_batch_that_the_log_tells() -> None:
    recorder = Recorder(t0=0.0, clock=lambda: 0.0, batching=BatchRates(512))
    recorder.on_line(LogLine(0.1, "0.00.025.190 I llama_context: n_ubatch              = 256"))
    recorder.on_row(sample(0.5, told(0, 0)))
    for task in range(4):
        recorder.on_line(LogLine(1.0, LAUNCH.format(task)))
        recorder.on_line(LogLine(1.5, RELEASE.format(task)))
    recorder.on_row(sample(2.5, told(128, 1)))
    assert recorder.parser.micro_batch == 256
    assert recorder.series.last("batch_fill") == 0.5
    assert recorder.series.last("requests_per_s") == 2.0


def test_a_server_that_generates_has_no_such_columns() -> None:
    recorder = Recorder(t0=0.0, clock=lambda: 0.0)
    recorder.on_row(sample(1.0))
    assert "batch_fill" not in recorder.series.names


def test_texts_a_second_of_a_stored_session_are_those_that_were_seen_live() -> None:
    rates, ends = BatchRates(512), [1.0, 1.0, 2.5, 9.0]
    t = np.arange(0.0, 16.0, 1.0)
    live = [rates.feed(sample(float(at)), sum(e <= at for e in ends), None)["requests_per_s"] for at in t]
    stored = texts_per_s(t, np.array(ends), np.ones(len(t), bool))
    assert stored.tolist() == pytest.approx(live, nan_ok=True)
    assert max(live[1:]) > 0
    assert np.isnan(texts_per_s(t, np.array(ends), np.zeros(len(t), bool))).all()
    assert len(texts_per_s(t[:0], np.array(ends), np.ones(0, bool))) == 0
