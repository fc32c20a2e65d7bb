from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from typing import Any

import pytest

from paddock.hardware import Reading
from paddock.session import Event, Sample, Sampler, SamplerSpec
from paddock.session.rates import CounterRates, SlotRates, read_counters, slot_sample

NAN = math.nan
Slot = Callable[..., dict[str, Any]]


class Machine:
    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock, self.count, self.closed = clock, 0, False

    def read(self) -> Reading:
        self.count += 1
        return Reading(self.clock(), 1.0, 2.0, 3.0, 0.0, 4.0, 5.0, ())

    def close(self) -> None:
        self.closed = True


class Rig:
    """A sampler on a clock of our own: `run` lets time pass, doing `every` before each tick."""

    def __init__(self, server: Any, clock: Any, **options: Any) -> None:
        self.server, self.clock = server, clock
        self.rows: list[Sample | Event] = []
        self.machine = Machine(clock)
        self.hint = False
        self.every: Callable[[], None] = lambda: None
        self.left = 0.0
        self.sampler = Sampler(lambda: server, lambda: self.machine, self.rows.append, clock=clock, wait=self._wait,
                               active_hint=lambda: self.hint, **options)

    def _wait(self, seconds: float) -> bool:
        assert seconds >= 0
        self.clock.now += seconds
        self.left -= seconds
        self.every()
        return self.left <= 0

    def run(self, seconds: float) -> list[Sample]:
        self.left = seconds
        self.sampler._run()
        return self.samples

    @property
    def samples(self) -> list[Sample]:
        return [r for r in self.rows if isinstance(r, Sample)]

    @property
    def notices(self) -> list[Event]:
        return [r for r in self.rows if isinstance(r, Event)]


@pytest.fixture
def rig(fake_server: Any, clock: Any) -> Rig:
    return Rig(fake_server, clock)


def generating(rig: Rig, slot: Slot, rate: float = 20.0) -> None:
    start = rig.clock.now

    def every() -> None:
        done = int((rig.clock.now - start) * rate)
        rig.server.slots_data = [slot(task=1, busy=True, decoded=done, processed=10, tokens=10 + done)]

    rig.server.slots_data = [slot(task=1, busy=True, decoded=1, processed=10)]
    rig.every = every


def test_generation_speed_is_what_the_counts_say(rig: Rig, slot: Slot) -> None:
    generating(rig, slot, 20.0)
    samples = rig.run(10.0)
    rates = [s.generation_per_s for s in samples[3:]]
    assert all(18.0 <= r <= 22.0 for r in rates)
    assert all(s.slots[0].phase == "generating" for s in samples[1:])
    assert samples[-1].context_used > 150


def test_fast_polls_come_in_bursts_with_a_pause_that_lets_abandoned_requests_end(rig: Rig, slot: Slot) -> None:
    generating(rig, slot)
    rig.run(20.0)
    times = rig.server.times("slots")
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert min(gaps) == pytest.approx(0.2)
    longest_burst, run = 0, 0
    for gap in gaps:
        run = run + 1 if gap < 1.05 else 0
        longest_burst = max(longest_burst, run)
    assert longest_burst <= 10
    assert max(gaps) < 1.5
    both = sorted(t for t, what in rig.server.asked if what != "props")
    in_pause = [b - a for a, b in itertools.pairwise(both) if b - a > 1.05]
    assert len(in_pause) >= 5


def test_without_pauses_when_the_requests_are_our_own(fake_server: Any, clock: Any, slot: Slot) -> None:
    rig = Rig(fake_server, clock, own_requests=lambda: True)
    generating(rig, slot)
    rig.run(10.0)
    times = fake_server.times("slots")
    assert max(b - a for a, b in itertools.pairwise(times)) < 0.25
    assert len(times) >= 50


def test_the_schedule_does_not_drift_when_answers_take_time(rig: Rig, slot: Slot) -> None:
    generating(rig, slot)
    ask = rig.server.slots

    def slow() -> Any:
        rig.clock.now += 0.05
        return ask()

    rig.server.slots = slow
    samples = rig.run(1.7)
    assert [round(s.t, 3) for s in samples[:9]] == [round(i * 0.2, 3) for i in range(9)]


def test_idle_is_zero_and_never_the_last_value(rig: Rig, slot: Slot) -> None:
    generating(rig, slot)
    rig.run(2.0)
    rig.every = lambda: None
    rig.server.slots_data = [slot(task=1, tokens=50)]
    samples = rig.run(5.0)[-3:]
    assert [s.generation_per_s for s in samples] == [0.0] * 3
    assert [s.prompt_per_s for s in samples] == [0.0] * 3
    assert [s.requests_processing for s in samples] == [0.0] * 3
    assert [s.context_used for s in samples] == [50.0] * 3
    assert all(math.isnan(s.slots[0].generation_per_s) for s in samples)


def test_no_answer_is_nan_and_the_thread_goes_on(rig: Rig, slot: Slot) -> None:
    generating(rig, slot)
    rig.run(2.0)
    rig.server.codes = {"slots": None, "metrics": None}
    samples = rig.run(5.0)[-3:]
    assert not any(s.answered for s in samples)
    for s in samples:
        assert all(math.isnan(v) for v in (s.generation_per_s, s.prompt_per_s, s.context_used, s.requests_waiting,
                                           s.requests_processing, s.acceptance))
        assert s.reading is not None
    rig.server.codes = {}
    assert rig.run(3.0)[-1].answered


def test_a_new_task_begins_a_new_count(slot: Slot) -> None:
    rates = SlotRates()
    for t, task, decoded in ((0.0, 1, 100), (0.5, 1, 110)):
        last = slot_sample(t, slot(task=task, busy=True, decoded=decoded), rates)
    assert last.generation_per_s == 20.0
    assert math.isnan(slot_sample(0.7, slot(task=2, busy=True, decoded=3), rates).generation_per_s)
    assert slot_sample(1.2, slot(task=2, busy=True, decoded=8), rates).generation_per_s == pytest.approx(10.0)


def test_a_count_that_falls_is_a_gap_and_never_a_negative_speed(slot: Slot) -> None:
    rates = SlotRates()
    slot_sample(0.0, slot(task=1, busy=True, decoded=50_000), rates)
    assert math.isnan(slot_sample(0.5, slot(task=1, busy=True, decoded=120), rates).generation_per_s)
    assert slot_sample(1.0, slot(task=1, busy=True, decoded=130), rates).generation_per_s == pytest.approx(20.0)


def test_prompt_speed_is_the_mean_over_its_batches(slot: Slot) -> None:
    rates = SlotRates()
    seen = [slot_sample(t / 10, slot(task=1, busy=True, processed=min(1024, t // 10 * 512)), rates) for t in range(25)]
    assert {s.phase for s in seen} == {"prompt"}
    assert math.isnan(seen[9].prompt_per_s)
    assert seen[10].prompt_per_s == pytest.approx(512.0)
    assert seen[24].prompt_per_s == pytest.approx(512.0)


@pytest.mark.parametrize("place", [{"next_token": [{"n_decoded": 7}]}, {"next_token": {"n_decoded": 7}},
                                   {"n_decoded": 7}])
def test_the_count_is_found_wherever_a_build_puts_it(place: dict[str, Any]) -> None:
    sample = slot_sample(0.0, {"id": 0, "is_processing": True, "id_task": 1} | place, SlotRates())
    assert sample.generated == 7.0


def test_without_the_count_the_steps_of_the_server_tell(rig: Rig) -> None:
    rig.server.slots_data = [{"id": 0, "is_processing": True, "id_task": 1, "n_ctx": 10}]
    start = rig.clock.now
    rig.every = lambda: rig.server.metrics_data.update(
        n_decode_total=(rig.clock.now - start) * 30.0, requests_processing=1.0)
    rig.every()
    samples = rig.run(6.0)
    fresh = [s for s in samples if s.counters is not None][1:]
    assert fresh
    assert all(s.generation_per_s == pytest.approx(30.0, rel=0.2) for s in fresh)
    assert all(s.slots[0].busy for s in samples)


def test_a_request_between_two_polls_shows_in_the_next_sample(rig: Rig, slot: Slot) -> None:
    rig.server.slots_data = [slot()]
    rig.server.metrics_data = {"n_decode_total": 0.0, "tokens_predicted_total": 0.0, "requests_processing": 0.0,
                               "tokens_predicted_seconds_total": 0.0, "prompt_tokens_total": 0.0,
                               "prompt_seconds_total": 0.0}
    rig.run(1.0)
    rig.server.metrics_data = {"n_decode_total": 6.0, "tokens_predicted_total": 6.0, "requests_processing": 0.0,
                               "tokens_predicted_seconds_total": 0.1, "prompt_tokens_total": 100.0,
                               "prompt_seconds_total": 0.5}
    sample = rig.run(1.0)[-1]
    assert (sample.generation_per_s, sample.prompt_per_s) == (pytest.approx(50.0), pytest.approx(200.0))
    assert rig.run(1.0)[-1].generation_per_s == 0.0


def test_a_request_that_the_slots_told_does_not_come_again_from_the_counters(rig: Rig, slot: Slot) -> None:
    generating(rig, slot)
    rig.server.metrics_data = {"n_decode_total": 0.0, "tokens_predicted_total": 0.0, "requests_processing": 1.0,
                               "tokens_predicted_seconds_total": 0.0}
    told = rig.run(2.0)
    assert told[-1].generation_per_s > 0
    rig.every = lambda: None
    rig.server.slots_data = [slot(task=1, tokens=60)]
    rig.server.metrics_data = {"n_decode_total": 60.0, "tokens_predicted_total": 60.0, "requests_processing": 0.0,
                               "tokens_predicted_seconds_total": 2.0}
    idle = [s for s in rig.run(4.0) if s.t > told[-1].t + 0.3]
    assert idle
    assert any(s.counters for s in idle)
    assert [s.generation_per_s for s in idle] == [0.0] * len(idle)


def test_counters_that_fall_are_a_restart(rig: Rig) -> None:
    rates = CounterRates()
    rates.update(0.0, {"n_decode_total": 100.0, "tokens_predicted_total": 50_000.0, "requests_deferred": 2.0,
                       "tokens_predicted_seconds_total": 100.0})
    rates.update(1.0, {"n_decode_total": 3.0, "tokens_predicted_total": 120.0, "tokens_predicted_seconds_total": 1.0})
    assert math.isnan(rates.generation_per_s)
    assert math.isnan(rates.decodes_per_s)
    rates.update(2.0, {"n_decode_total": 5.0, "tokens_predicted_total": 141.0, "tokens_predicted_seconds_total": 2.0})
    assert rates.generation_per_s == pytest.approx(20.0)


def test_acceptance_counts_drafts_and_is_nothing_without_them() -> None:
    rates = CounterRates()
    zero = {"spec_decode_num_draft_tokens_total": 0.0, "spec_decode_num_accepted_tokens_total": 0.0}
    rates.update(0.0, zero)
    rates.update(1.0, zero)
    assert math.isnan(rates.acceptance)
    rates.update(2.0, {"spec_decode_num_draft_tokens_total": 40.0, "spec_decode_num_accepted_tokens_total": 30.0})
    assert rates.acceptance == 0.75
    for t in range(3, 60):
        rates.update(float(t), {"spec_decode_num_draft_tokens_total": 40.0,
                                "spec_decode_num_accepted_tokens_total": 30.0})
    assert math.isnan(rates.acceptance)


def test_a_missing_key_is_told_once_and_asked_for_rarely(rig: Rig) -> None:
    rig.server.codes = dict.fromkeys(("slots", "metrics", "props"), 401)
    rig.run(59.0)
    assert [e.data["id"] for e in rig.notices] == ["sampler.key"]
    assert len(rig.server.asked) <= 4


@pytest.mark.parametrize(("what", "word"), [("metrics", "--metrics"), ("slots", "--no-slots")])
def test_what_is_switched_off_is_named(rig: Rig, slot: Slot, what: str, word: str) -> None:
    rig.server.codes = {what: 501}
    generating(rig, slot)
    samples = rig.run(10.0)
    assert [e.data["id"] for e in rig.notices] == [f"sampler.{what}"]
    assert word in rig.notices[0].text
    assert samples[-1].answered
    assert len(rig.server.times(what)) == 1


def test_a_sleeping_server_is_neither_woken_nor_kept_awake(fake_server: Any, clock: Any, slot: Slot) -> None:
    rig = Rig(fake_server, clock, spec=SamplerSpec(sleeps=True))
    fake_server.slots_data = [slot()]
    fake_server.props_data = {"is_sleeping": False}
    fake_server.metrics_data = {"requests_processing": 0.0}
    rig.run(10.0)
    assert fake_server.times("slots") == []
    assert rig.samples[-1].generation_per_s == 0.0
    fake_server.props_data = {"is_sleeping": True}
    fake_server.asked.clear()
    sample = rig.run(5.0)[-1]
    assert (sample.sleeping, sample.answered, sample.generation_per_s) == (True, True, 0.0)
    assert {what for _, what in fake_server.asked} == {"props"}


def test_a_server_that_may_sleep_is_polled_while_something_runs(fake_server: Any, clock: Any, slot: Slot) -> None:
    rig = Rig(fake_server, clock, spec=SamplerSpec(sleeps=None))
    fake_server.props_data = {"is_sleeping": False}
    fake_server.metrics_data = {"requests_processing": 1.0}
    generating(rig, slot)
    assert rig.run(5.0)[-1].generation_per_s > 0
    assert len(fake_server.times("slots")) > 10
    assert len(fake_server.times("props")) <= 6


def test_the_log_can_tell_that_something_runs(fake_server: Any, clock: Any, slot: Slot) -> None:
    rig = Rig(fake_server, clock, spec=SamplerSpec(sleeps=True))
    fake_server.codes = {"metrics": 501}
    generating(rig, slot)
    rig.run(3.0)
    assert fake_server.times("slots") == []
    rig.hint = True
    rig.run(3.0)
    assert len(fake_server.times("slots")) > 5


def test_a_router_is_only_asked_for_its_properties(fake_server: Any, clock: Any) -> None:
    rig = Rig(fake_server, clock, spec=SamplerSpec(sleeps=None))
    fake_server.props_data = {"role": "router"}
    rig.run(5.0)
    assert {what for _, what in fake_server.asked} == {"props"}
    assert [e.data["id"] for e in rig.notices] == ["sampler.router"]


def test_hardware_is_read_about_once_a_second(rig: Rig, slot: Slot) -> None:
    generating(rig, slot)
    samples = rig.run(20.0)
    assert 14 <= rig.machine.count <= 22
    assert samples[-1].reading is not None


def test_waiting_requests_come_from_the_counters(rig: Rig, slot: Slot) -> None:
    generating(rig, slot)
    rig.server.metrics_data = {"requests_deferred": 3.0, "requests_processing": 1.0}
    assert all(s.requests_waiting == 3.0 for s in rig.run(4.0))


def test_metrics_are_read_from_text_or_mapping() -> None:
    text = '# HELP x\nllamacpp:n_decode_total 1.23457e+06\nllamacpp:pos{position="0"} 20\nbroken x\n\n'
    assert read_counters(text) == {"n_decode_total": 1234570.0, 'pos{position="0"}': 20.0}
    assert read_counters({"llamacpp:a": 1, "b": 2.5, "c": None}) == {"a": 1.0, "b": 2.5}
    assert read_counters(None) is None


def test_start_stop_join_leaves_nothing_behind(fake_server: Any) -> None:
    machine = Machine(lambda: 0.0)
    first = threading.Event()
    sampler = Sampler(lambda: fake_server, lambda: machine, lambda row: first.set(), name="sampler under test")
    sampler.start()
    assert first.wait(10)
    sampler.stop()
    assert sampler.join(10)
    assert fake_server.closed
    assert machine.closed
    assert not [t for t in threading.enumerate() if t.name == "sampler under test"]


def test_a_poke_ends_an_idle_pause(fake_server: Any) -> None:
    rows: list[Sample | Event] = []
    ticks = threading.Semaphore(0)

    def sink(row: Sample | Event) -> None:
        rows.append(row)
        ticks.release()

    spec = SamplerSpec(idle_s=3600.0, slots_s=0.0)
    sampler = Sampler(lambda: fake_server, lambda: None, sink, spec=spec)
    sampler.start()
    try:
        assert ticks.acquire(timeout=10)
        for _ in range(200):
            sampler.poke()
            if ticks.acquire(timeout=0.05):
                break
        assert len(rows) >= 2
    finally:
        sampler.stop()
        assert sampler.join(10)


def test_stopping_before_starting_is_fine(fake_server: Any) -> None:
    sampler = Sampler(lambda: fake_server, lambda: None, lambda row: None)
    sampler.stop()
    assert sampler.join(1)
