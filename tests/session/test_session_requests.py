from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paddock.server import LogLine
from paddock.session import LogParser, Request, Sample
from paddock.session.log import Fact
from paddock.session.rates import SlotRates, read_counters, slot_sample
from paddock.session.requests import RequestTracker

Lines = Callable[[str], list[LogLine]]
DATA = Path(__file__).parents[1] / "data" / "session"
NAN = math.nan


def follow(tracker: RequestTracker, lines: list[LogLine]) -> dict[int, Request]:
    parser, rows = LogParser(), {}
    for line in lines:
        for fact in parser.feed(line):
            for request in tracker.feed(replace(fact, t=fact.t - 1000.0)):
                rows[request.number] = request
        tracker.log_tells = parser.tells_requests
    return rows


def poll(t: float, slots: list[dict[str, Any]], counters: dict[str, float] | None = None) -> Sample:
    seen = tuple(slot_sample(t, one, SlotRates()) for one in slots)
    return Sample(t, NAN, NAN, NAN, NAN, NAN, NAN, seen, None, True, counters=counters)


def test_every_request_of_the_log_is_one_row_with_the_servers_figures(
    recorded: Lines, timings: Callable[[str], list[dict[str, float]]]
) -> None:
    rows = list(follow(RequestTracker(), recorded("plain-11434-lv4.log")).values())
    assert [r.status for r in rows] == ["done"] * 4 + ["cancelled", "failed"] + ["done"] * 4
    assert [r.number for r in rows] == list(range(1, 11))
    done = [r for r in rows if r.status == "done"]
    for row, own in zip(done[:4], timings("plain-11434-timings.json")[:4], strict=True):
        assert row.generated_tokens == own["predicted_n"]
        assert row.evaluated_tokens == own["prompt_n"]
        assert row.cached_tokens == own["cache_n"]
        assert row.prompt_tokens == own["prompt_n"] + own["cache_n"]
        assert row.prompt_per_s == pytest.approx(own["prompt_per_second"], rel=0.01)
        if own["predicted_n"] > 1:
            assert row.generation_per_s == pytest.approx(own["predicted_per_second"], rel=0.01)
            assert row.ttft_s == pytest.approx(own["prompt_ms"] / 1e3, rel=0.05, abs=0.02)
        else:
            assert row.generation_per_s is None


def test_totals_agree_with_the_counters(recorded: Lines) -> None:
    rows = follow(RequestTracker(), recorded("plain-11434-lv4.log")).values()
    counters = read_counters((DATA / "metrics-11434.txt").read_text())
    assert counters is not None
    assert sum(r.generated_tokens or 0 for r in rows) == counters["tokens_predicted_total"]
    assert sum(r.evaluated_tokens or 0 for r in rows) == counters["prompt_tokens_total"] - 5  # the cancelled prompt


def test_a_failed_request_carries_the_reason(recorded: Lines) -> None:
    rows = follow(RequestTracker(), recorded("plain-11434-lv4.log")).values()
    (failed,) = [r for r in rows if r.status == "failed"]
    assert failed.error is not None
    assert "exceeds the available context size" in failed.error
    assert failed.generated_tokens is None


def test_drafts_are_counted(recorded: Lines) -> None:
    rows = follow(RequestTracker(), recorded("draft-11434-lv4.log"))
    assert [(r.draft_tokens, r.accepted_tokens) for r in rows.values()] == [(29, 29), (29, 29)]
    assert [r.cached_tokens for r in rows.values()] == [0, 10]


def test_at_plain_verbosity_the_cached_part_follows_from_the_slots_length(recorded: Lines) -> None:
    (row,) = follow(RequestTracker(), recorded("noprefix-11434-lv3.log")).values()
    assert (row.prompt_tokens, row.cached_tokens, row.evaluated_tokens, row.generated_tokens) == (9, 0, 9, 5)


def test_polls_add_to_the_log_and_never_a_second_row(recorded: Lines) -> None:
    """The log and the polls of one run, merged in time."""
    tracker, parser, rows = RequestTracker(), LogParser(), {}
    polls = json.loads((DATA / "plain-11434-slots.json").read_text())
    moments: list[tuple[float, Any]] = [(line.t - 1000.0, line) for line in recorded("plain-11434-lv4.log")]
    moments += [(t + 1.13, slots) for t, slots in polls]
    for t, what in sorted(moments, key=lambda m: m[0]):
        changed: list[Request] = []
        if isinstance(what, LogLine):
            for fact in parser.feed(what):
                changed += tracker.feed(replace(fact, t=fact.t - 1000.0))
            tracker.log_tells = parser.tells_requests
        else:
            changed = tracker.sample(poll(t, what))
        for request in changed:
            rows[request.number] = request
    assert len(rows) == 10
    assert [r.source for r in rows.values()] == ["log"] * 10
    assert rows[2].generated_tokens == 150
    assert rows[5].t_first_token is not None


def test_live_figures_of_a_running_request_come_from_the_polls(slot: Callable[..., dict[str, Any]]) -> None:
    tracker = RequestTracker()
    tracker.log_tells = True
    tracker.feed(Fact(1.0, "launch", 0, 7, {"child": 0.0}))
    assert tracker.sample(poll(1.2, [slot(task=7, busy=True, processed=5, cached=95)]))[0].cached_tokens == 95
    (row,) = tracker.sample(poll(1.4, [slot(task=7, busy=True, processed=5, cached=95, decoded=3)]))
    assert (row.generated_tokens, row.t_first_token, row.status) == (3, 1.4, "active")
    assert tracker.sample(poll(1.4, [slot(task=7, busy=True, processed=5, cached=95, decoded=3)])) == []


def test_a_cancelled_request_has_the_tokens_that_its_slot_held(slot: Callable[..., dict[str, Any]]) -> None:
    tracker = RequestTracker()
    tracker.feed(Fact(1.0, "launch", 0, 7))
    tracker.sample(poll(1.9, [slot(task=7, busy=True, processed=5, cached=10, decoded=9)]))
    tracker.feed(Fact(4.0, "cancel", task=7))
    (row,) = tracker.feed(Fact(4.0, "release", 0, 7, {"tokens": 149.0, "truncated": 0.0}))
    assert (row.status, row.prompt_tokens, row.generated_tokens) == ("cancelled", 15, 135)


def test_finals_of_the_log_replace_what_the_polls_guessed() -> None:
    tracker = RequestTracker()
    tracker.feed(Fact(1.0, "launch", 0, 7))
    tracker.sample(poll(1.9, [{"id": 0, "id_task": 7, "is_processing": True, "next_token": [{"n_decoded": 9}]}]))
    tracker.feed(Fact(3.0, "prompt", 0, 7, {"ms": 500.0, "tokens": 100.0, "per_s": 200.0}))
    (row,) = tracker.feed(Fact(3.0, "generated", 0, 7, {"ms": 1500.0, "tokens": 31.0, "per_s": 20.0}))
    assert (row.t_first_token, row.ttft_s, row.generated_tokens) == (1.5, 0.5, 31)


def test_what_runs_when_the_server_stops_is_cancelled_and_when_it_crashes_failed() -> None:
    for crashed, status in ((False, "cancelled"), (True, "failed")):
        tracker = RequestTracker()
        tracker.feed(Fact(1.0, "launch", 0, 7))
        assert [(r.status, r.t_end) for r in tracker.close(5.0, crashed)] == [(status, 5.0)]
        assert tracker.active == 0


def test_the_same_task_number_after_a_restart_is_another_request() -> None:
    tracker = RequestTracker()
    tracker.feed(Fact(1.0, "launch", 0, 0))
    tracker.close(2.0, True)
    (row,) = tracker.feed(Fact(3.0, "launch", 0, 0))
    assert row.number == 2


def test_children_of_a_request_are_marked() -> None:
    tracker = RequestTracker()
    tracker.feed(Fact(1.0, "launch", 0, 1, {"child": 0.0}))
    assert tracker.feed(Fact(1.0, "launch", 1, 2, {"child": 1.0}))[0].is_child


def test_an_embedding_is_done_though_it_prints_no_timings() -> None:
    tracker = RequestTracker()
    tracker.feed(Fact(1.0, "launch", 0, 1))
    (row,) = tracker.feed(Fact(1.1, "release", 0, 1, {"tokens": 12.0, "truncated": 0.0}))
    assert (row.status, row.generated_tokens) == ("done", None)


def test_without_a_log_a_slot_that_works_is_a_request(slot: Callable[..., dict[str, Any]]) -> None:
    tracker, rows = RequestTracker(), {}
    polls: list[tuple[float, list[dict[str, Any]], dict[str, float] | None]] = [
        (0.0, [slot()], {"tokens_predicted_total": 0.0, "n_decode_total": 0.0}),
        (0.2, [slot(task=0, busy=True)], None),
        (0.4, [slot(task=0, busy=True, decoded=5, processed=20, cached=3)], None),
        (0.6, [slot(task=0, tokens=60)], None),
        (1.0, [slot(task=0, tokens=60)], {
            "tokens_predicted_total": 40.0, "tokens_predicted_seconds_total": 2.0, "prompt_tokens_total": 20.0,
            "prompt_seconds_total": 0.1, "prompt_tokens_cached_total": 3.0, "n_decode_total": 41.0})]
    for t, slots, counters in polls:
        for row in tracker.sample(poll(t, slots, counters)):
            rows[row.number] = row
    (row,) = rows.values()
    assert (row.status, row.t_start, row.t_end, row.source) == ("done", 0.2, 0.6, "slots")
    assert (row.prompt_tokens, row.cached_tokens, row.generated_tokens) == (23, 3, 40)
    assert row.generation_per_s == pytest.approx(39 / 2.0)
    assert row.prompt_per_s == pytest.approx(200.0)


def test_without_a_log_a_request_between_two_polls_is_seen_by_its_task(slot: Callable[..., dict[str, Any]]) -> None:
    tracker = RequestTracker()
    tracker.sample(poll(0.0, [slot(task=3, tokens=10)]))
    (row,) = tracker.sample(poll(0.2, [slot(task=9, tokens=50)]))
    assert (row.task, row.status, row.context_used) == (9, "done", 50)
    assert tracker.sample(poll(0.4, [slot(task=9, tokens=50)])) == []


def test_a_log_of_warnings_only_still_tells_of_cancelled_and_failed(slot: Callable[..., dict[str, Any]]) -> None:
    tracker, parser, rows = RequestTracker(), LogParser(), {}
    lines = {1: "W srv          stop: cancel task, id_task = 5", 2: "E srv    send_error: task id = 6, error: no room"}
    for i, busy in enumerate(((5, 6, 7), (5, 6, 7), (5, 6, 7), ())):
        for fact in parser.feed(LogLine(float(i), lines.get(i, ""))):
            tracker.feed(fact)
        tracker.log_tells = parser.tells_requests
        slots = [slot(n, task=task, busy=task in busy) for n, task in enumerate((5, 6, 7))]
        for row in tracker.sample(poll(float(i), slots)):
            rows[row.task] = row
    assert {task: row.status for task, row in rows.items()} == {5: "cancelled", 6: "failed", 7: "done"}


def test_what_a_server_did_before_we_came_is_not_ours(slot: Callable[..., dict[str, Any]]) -> None:
    tracker = RequestTracker()
    assert tracker.sample(poll(0.0, [slot(task=3, tokens=10)], {"tokens_predicted_total": 900.0})) == []


def test_without_log_and_slots_the_counters_still_tell_that_something_ran() -> None:
    tracker = RequestTracker()
    assert tracker.sample(poll(0.0, [], {"tokens_predicted_total": 5.0})) == []
    (row,) = tracker.sample(poll(1.0, [], {"tokens_predicted_total": 25.0}))
    assert (row.source, row.generated_tokens, row.status) == ("counters", 20, "done")
    assert tracker.sample(poll(2.0, [], {"tokens_predicted_total": 1.0})) == []


def test_a_short_or_cached_prompt_tells_no_speed() -> None:
    assert not Request(1, 1, 0, 0.0, prompt_per_s=34.6, evaluated_tokens=1).prompt_rate_means_something
    assert Request(1, 1, 0, 0.0, prompt_per_s=251.0, evaluated_tokens=1002).prompt_rate_means_something


def test_the_projectors_time_goes_to_the_request_that_waits_for_it() -> None:
    slot = "slot update_slots: id  {} | task {} | "
    text = ("0.01.000.000 I " + slot.format(0, 7) + "processing task, is_child = 0",
            "0.01.000.000 I " + slot.format(1, 8) + "processing task, is_child = 0",
            "0.01.100.000 I " + slot.format(0, 7) + "encoding mtmd batch from idx = 4, n_chunks = 2",
            "0.01.900.000 I image decoded (batch 1/2) in 50 ms",
            "0.01.950.000 I image decoded (batch 2/2) in 40 ms",
            "0.02.000.000 I image decoded (batch 1/1) in 45 ms",
            "0.02.100.000 I " + slot.format(1, 8) + "encoding mtmd batch from idx = 4, n_chunks = 1",
            "0.02.300.000 I audio decoded (batch 1/1) in 20 ms",
            "0.02.400.000 I " + slot.format(0, 7) + "encoding mtmd batch from idx = 90, n_chunks = 1",
            "0.02.500.000 I image decoded (batch 1/1) in 10 ms")
    rows = follow(RequestTracker(), [LogLine(1000.0 + i, line) for i, line in enumerate(text)])
    assert rows[1].image_ms == pytest.approx(750.0 + 90.0)
    assert rows[2].image_ms == pytest.approx(180.0)


def test_an_older_builds_projector_line_counts_for_the_only_request() -> None:
    head = "slot launch_slot_: id  0 | task 7 | processing task, is_child = 0"
    rows = follow(RequestTracker(), [LogLine(1.0, head), LogLine(2.0, "image slice encoded in 321 ms")])
    assert rows[1].image_ms == 321.0
    both = [LogLine(1.0, head), LogLine(1.1, head.replace("id  0 | task 7", "id  1 | task 8")),
            LogLine(2.0, "image slice encoded in 321 ms")]
    assert all(r.image_ms is None for r in follow(RequestTracker(), both).values())
