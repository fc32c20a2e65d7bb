from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from paddock.hardware import DeviceReading, Reading
from paddock.server import Diagnosis, Exit, LogLine, State
from paddock.session import Event, Recorder, Request, Sample
from paddock.session.columns import sample_columns
from paddock.session.model import MarkChange
from paddock.session.rates import SlotRates, slot_sample
from paddock.session.recorder import Row
from paddock.text import Text

NAN = math.nan
Lines = Callable[[str], list[LogLine]]
LAUNCH = "0.01.000.000 I slot launch_slot_: id  0 | task {} | processing task, is_child = {}"
RELEASE = "0.02.000.000 I slot release: id  0 | task {} | stop processing: n_tokens = 9, truncated = 0"


def card(name: str, process: float, used: float) -> DeviceReading:
    return DeviceReading(name, used, 0.0, process, 50.0, NAN, NAN, NAN, 99.0, 60.0, NAN, NAN, None)


def sample(t: float, reading: Reading | None = None, slots: tuple[Any, ...] = (), answered: bool = True) -> Sample:
    return Sample(t, 20.0, NAN, 100.0, 1.0, 0.0, NAN, slots, reading, answered)


@pytest.fixture
def rows() -> list[Row]:
    return []


@pytest.fixture
def recorder(rows: list[Row], clock: Any) -> Recorder:
    return Recorder(rows.append, clock=clock, t0=1000.0)


def test_a_whole_run_comes_together(recorder: Recorder, rows: list[Row], recorded: Lines) -> None:
    recorder.on_state(State.STARTING, 1000.0, None)
    for line in recorded("plain-11434-lv4.log"):
        recorder.on_line(line)
    recorder.on_state(State.STOPPED, 1020.0, Exit(0, Text("stopped")))
    shot = recorder.snapshot()
    assert (shot.state, shot.request_count, shot.active_requests) == (State.STOPPED, 10, 0)
    assert shot.generated_tokens == 383
    assert [r.number for r in shot.requests] == list(range(1, 11))
    assert shot.requests[0].t_start == pytest.approx(1.199865 + 0.001, abs=1e-5)
    assert shot.last_request == shot.requests[-1]
    assert shot.memory.offloaded == (19, 19)
    assert [e.text for e in shot.events] == ["starting", "model loaded", "stopped"]
    finals = {r.number: r for r in rows if isinstance(r, Request)}
    assert tuple(finals.values()) == shot.requests


def test_rows_in_the_sink_do_not_change_afterwards(recorder: Recorder, rows: list[Row]) -> None:
    recorder.on_line(LogLine(1001.0, LAUNCH.format(1, 0)))
    before = rows[-1]
    assert isinstance(before, Request)
    recorder.on_line(LogLine(1002.0, RELEASE.format(1)))
    assert before.status == "active"
    assert isinstance(rows[-1], Request)
    assert rows[-1].status == "done"


def test_a_snapshot_copies_nothing_that_has_not_changed(recorder: Recorder) -> None:
    recorder.on_line(LogLine(1001.0, LAUNCH.format(1, 0)))
    one, two = recorder.snapshot(), recorder.snapshot()
    assert one.requests is two.requests
    assert one.events is two.events
    assert one.request_revision == two.request_revision
    recorder.on_line(LogLine(1002.0, RELEASE.format(1)))
    assert recorder.snapshot().request_revision > two.request_revision


def test_children_add_tokens_but_no_request(recorder: Recorder) -> None:
    for task, child in ((1, 0), (2, 1)):
        recorder.on_line(LogLine(1001.0, LAUNCH.format(task, child)))
    assert recorder.snapshot().request_count == 1
    assert len(recorder.snapshot().requests) == 2


def test_the_log_is_pulled_by_number_and_bounded(clock: Any) -> None:
    recorder = Recorder(clock=clock, keep_lines=100)
    for i in range(250):
        recorder.on_line(LogLine(float(i), f"line {i}"))
    shot = recorder.snapshot()
    assert (shot.log_first, shot.log_last) == (151, 250)
    assert [line.text for line in recorder.log(247)] == ["line 247", "line 248", "line 249"]
    assert len(recorder.log(0)) == 100
    assert [line.number for line in recorder.log(0, limit=2)] == [249, 250]
    assert recorder.log(250) == []


def test_requests_are_bounded_and_totals_are_not(clock: Any) -> None:
    recorder = Recorder(clock=clock, t0=1000.0, keep_requests=10)
    for i in range(30):
        recorder.on_line(LogLine(1001.0, LAUNCH.format(i, 0)))
        recorder.on_line(LogLine(1001.0, f"0.01.500.000 I slot print_timing: id  0 | task {i} |  eval time = "
                                 "1000.0 ms /  11 tokens ( 1.0 ms per token,  10.0 tokens per second)"))
        recorder.on_line(LogLine(1001.0, RELEASE.format(i)))
    shot = recorder.snapshot()
    assert (shot.request_count, shot.generated_tokens, len(shot.requests)) == (30, 330, 10)


def test_samples_fill_the_series_and_an_unanswered_one_is_a_gap(recorder: Recorder) -> None:
    busy = slot_sample(0.0, {"id": 2, "is_processing": True, "id_task": 5, "n_prompt_tokens": 40, "n_ctx": 64,
                             "next_token": [{"n_decoded": 3}]}, SlotRates())
    recorder.on_row(sample(1.0, Reading(1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, (card("CUDA0", 7.0, 8.0),)), (busy,)))
    recorder.on_row(replace(sample(2.0, None, (), False), generation_per_s=NAN))
    series = recorder.series
    assert series.view("generation_per_s")[1].tolist()[0] == 20.0
    assert math.isnan(series.last("generation_per_s"))
    assert series.view("slot.2.context_used")[1].tolist()[0] == 40.0
    assert series.view("CUDA0.process_bytes")[1].tolist()[0] == 7.0
    assert math.isnan(series.last("CUDA0.process_bytes"))
    assert "CUDA0.throttle" not in series.names


def test_the_speed_of_a_prompt_fills_the_time_that_it_took(recorder: Recorder) -> None:
    recorder.on_line(LogLine(1001.0, LAUNCH.format(1, 0)))
    waiting = {"id": 0, "is_processing": True, "id_task": 1, "next_token": [{"n_decoded": 0}]}
    writing = waiting | {"next_token": [{"n_decoded": 2}], "n_prompt_tokens_processed": 90, "n_prompt_tokens_cache": 0}
    for t, raw in ((1.2, waiting), (2.0, waiting), (3.0, writing)):
        recorder.on_row(sample(t, None, (slot_sample(t, raw, SlotRates()),)))
    told = replace(sample(3.5, None, (slot_sample(3.5, writing, SlotRates()),)), prompt_per_s=45.0, counters={"x": 1.0})
    recorder.on_row(told)
    assert recorder.series.view("prompt_per_s")[1].tolist() == [45.0] * 4


def test_peaks_are_kept_with_what_was_used_before(recorder: Recorder) -> None:
    recorder.on_state(State.STARTING, 1000.0, None)
    for t, rss, process, used in ((1.0, 1.0, 0.0, 500.0), (2.0, 9.0, 80.0, 580.0), (3.0, 4.0, 20.0, 520.0)):
        if t == 2.0:
            recorder.on_line(LogLine(1001.5, "0.00.500.000 I srv    load_model: loading model '/m.gguf'"))
        recorder.on_row(sample(t, Reading(t, 0.0, 100.0, 0.0, 0.0, 0.0, rss, (card("CUDA0", process, used),))))
    actual = recorder.actual()
    assert actual["measured"]["CUDA0"] == {"process_bytes": 80.0, "used_bytes": 580.0, "used_before_bytes": 500.0}
    assert actual["measured"]["Host"]["process_bytes"] == 9.0


def test_a_failure_is_an_event_with_its_diagnosis(recorder: Recorder, rows: list[Row]) -> None:
    diagnosis = Diagnosis("model-missing", Text("no such file"), Text("look"), "gguf_init_from_file: …")
    recorder.on_state(State.FAILED, 1003.0, Exit(1, Text("it ended"), False, diagnosis))
    (event,) = rows
    assert isinstance(event, Event)
    assert (event.kind, event.text, event.t) == ("state", "failed", 3.0)
    assert event.data["diagnosis"] == "model-missing"
    assert event.data["code"] == 1
    assert recorder.snapshot().exit is not None


def test_a_crash_fails_what_was_running_and_a_restart_begins_clean(recorder: Recorder) -> None:
    recorder.on_line(LogLine(1001.0, LAUNCH.format(1, 0)))
    assert recorder.busy
    recorder.on_state(State.CRASHED, 1003.0, Exit(-11, Text("crashed")))
    assert not recorder.busy
    recorder.on_state(State.STARTING, 1004.0, None)
    recorder.on_line(LogLine(1005.0, LAUNCH.format(1, 0).replace("0.01", "0.00")))
    requests = recorder.snapshot().requests
    assert [(r.status, round(r.t_start, 3)) for r in requests] == [("failed", 1.0), ("active", 5.0)]


def test_the_log_of_before_is_not_of_this_session(clock: Any, rows: list[Row]) -> None:
    recorder = Recorder(rows.append, clock=clock, t0=1000.0, history_s=1.0)
    for task in (1, 2, 3):
        recorder.on_line(LogLine(1000.1, LAUNCH.format(task, 0)))
    for task in (1, 3):
        recorder.on_line(LogLine(1000.1, RELEASE.format(task)))
    assert rows == []
    recorder.on_line(LogLine(1005.0, RELEASE.format(2).replace("0.02", "0.07")))
    assert [(r.number, r.task, r.status) for r in recorder.snapshot().requests] == [(1, 2, "done")]
    recorder.on_line(LogLine(1006.0, LAUNCH.format(4, 0).replace("0.01", "0.08")))
    assert [(r.number, r.task) for r in recorder.snapshot().requests] == [(1, 2), (2, 4)]


def test_marks_and_sampler_notices_become_events(recorder: Recorder, clock: Any) -> None:
    clock.now = 1007.0
    recorder.mark("opened the IDE", colour="red")
    recorder.on_row(Event(8.0, "issue", "metrics are off", {"id": "sampler.metrics"}))
    events = recorder.snapshot().events
    assert [(e.t, e.kind, e.text) for e in events] == [
        (7.0, "mark", "opened the IDE"), (8.0, "issue", "metrics are off")]


def test_a_mark_can_be_edited_and_deleted_and_the_sink_is_told(clock: Any) -> None:
    rows: list[Any] = []
    recorder = Recorder(rows.append, clock=clock)
    clock.now = 1007.0
    recorder.mark("first", note="first")
    recorder.mark("second")
    before = recorder.snapshot()
    first, second = before.events
    recorder.change_mark(first, "better", note="better")
    recorder.change_mark(second, None)
    recorder.change_mark(second, "gone already")
    recorder.event("issue", "no mark")
    recorder.change_mark(recorder.snapshot().events[-1], None)
    after = recorder.snapshot()
    assert [(e.t, e.text, e.data) for e in after.events] == [(first.t, "better", {"note": "better"}),
                                                             (first.t, "no mark", {})]
    assert [(c.was.text, c.now and c.now.text) for c in rows if isinstance(c, MarkChange)] == [
        ("first", "better"), ("second", None)]
    assert after.event_revision > before.event_revision


def test_the_excerpt_has_early_problems_and_the_end(clock: Any) -> None:
    recorder = Recorder(clock=clock)
    for i in range(1000):
        recorder.on_line(LogLine(float(i), f"line {i}", "W" if i == 5 else "I"))
    lines = recorder.excerpt(tail=10).splitlines()
    assert lines == ["line 5", *(f"line {i}" for i in range(990, 1000))]


def test_a_launch_in_the_log_wakes_the_sampler(clock: Any) -> None:
    woken: list[int] = []
    recorder = Recorder(clock=clock, on_launch=lambda: woken.append(1))
    recorder.on_line(LogLine(1.0, "nothing"))
    recorder.on_line(LogLine(1.0, LAUNCH.format(1, 0)))
    assert woken == [1]


def test_columns_are_numbers_only() -> None:
    reading = Reading(1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, (card("CUDA0", 7.0, 8.0),))
    assert all(isinstance(v, float) for v in sample_columns(sample(1.0, reading)).values())


def test_threads_may_write_and_pull_at_once(clock: Any) -> None:
    recorder = Recorder(clock=clock, t0=0.0, keep_lines=500, keep_requests=50)
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                failures.append(error)
                raise

        return threading.Thread(target=run)

    def lines() -> None:
        for i in range(3000):
            recorder.on_line(LogLine(float(i), LAUNCH.format(i, 0)))
            recorder.on_line(LogLine(float(i), RELEASE.format(i)))

    def samples() -> None:
        for i in range(3000):
            recorder.on_row(sample(float(i)))

    def pulls() -> None:
        for _ in range(500):
            shot = recorder.snapshot()
            recorder.log(shot.log_last - 20)
            recorder.series.view("generation_per_s", points=50)

    threads = [guarded(work) for work in (lines, samples, pulls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert recorder.snapshot().request_count == 3000
