"""Each detector fires on its own trouble and on no other; none fires on any healthy life."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import runsim as sim
from runsim import GIB, IDLE, LOADING, MIB, READ, SLEEPING, WRITE, Life, Span

from paddock.session.detectors import DETECTORS, Expectation, View, findings_of
from paddock.session.model import Request, SlotSample
from paddock.session.proxy.record import Exchange
from paddock.session.series import Series

SLOW = replace(WRITE, speed=20.0)
NAN = math.nan


def started(plan: Expectation | None = None, **kinds: Any) -> Life:
    return Life(plan or sim.plan(), **kinds).live(LOADING, IDLE)


def ids(view: View) -> set[str]:
    return {f.id for f in findings_of(view)}


# -- healthy


def _chat() -> Life:
    life = started()
    for _ in range(4):
        life.live(READ, replace(WRITE, new_request=False), IDLE)
    return life


def _bursts_of_prompts() -> Life:
    return started().live(*[replace(READ, seconds=2), replace(READ, seconds=9), replace(IDLE, seconds=3)] * 5)


def _sleep_and_wake() -> Life:
    return started().live(WRITE, IDLE, SLEEPING, replace(SLEEPING, seconds=60), LOADING, WRITE)


def _restart() -> Life:
    return started().live(WRITE, LOADING, replace(LOADING, seconds=20), IDLE, WRITE)


def _gaps() -> Life:
    missed = Span(4, answered=False, load=95.0)
    return started().live(WRITE, missed, WRITE, missed, IDLE, WRITE)


def _no_card() -> Life:
    busy = {"cpu_pct": 98.0, "process_cpu_pct": 1600.0 * 1.9, "run_queue": 33.0}
    return Life(sim.no_card_plan(), sim.in_ram(), cards=()).live(
        LOADING, IDLE, replace(READ, host=busy), replace(WRITE, host=busy, new_request=False), IDLE)


def _first_answer_reads_the_mapped_file() -> Life:
    reads = {"process_read_bytes_per_s": 400.0 * MIB, "process_faults_per_s": 900.0}
    return Life(sim.no_card_plan(), sim.in_ram(), cards=()).live(LOADING, replace(WRITE, seconds=9, host=reads), WRITE)


def _full_power_at_full_clock() -> Life:
    return started().live(*[replace(WRITE, reasons=("sw_power_cap",), clock=(2500.0, 2400.0))] * 3)


def _deep_context() -> Life:
    return started().live(replace(WRITE, seconds=120, speed=(52.0, 44.0), context=(200.0, 8000.0 * 0.85)))


def _old_swap() -> Life:
    old = {"swap_used_bytes": 3.0 * GIB, "process_swap_bytes": 200.0 * MIB}
    spans = (LOADING, IDLE, WRITE, IDLE, WRITE)
    return Life(sim.plan()).live(*[replace(span, host=old) for span in spans])


def _many_at_once() -> Life:
    four = replace(WRITE, busy=4, speed=12.0, waiting=1.0)
    return Life(sim.plan(slots=4), slots=4).live(LOADING, IDLE, *[four] * 3)


def _weights_in_ram_by_plan() -> Life:
    half = sim.plan(model_bytes={"CUDA0": 6 * GIB, "Host": 6 * GIB}, past=())
    return Life(half, sim.buffers(6 * GIB, 6 * GIB)).live(LOADING, *[replace(WRITE, load=20.0)] * 3)


def _nothing_known() -> Life:
    return Life(Expectation(), sim.buffers(0, 0, 0, 0), cards=()).live(LOADING, IDLE, WRITE, SLOW, IDLE)


def _good_drafts() -> Life:
    life = started(sim.plan(draft_share=0.06))
    life.requests += [Request(90 + i, 90 + i, 0, 0.0, 1.0, draft_tokens=100, accepted_tokens=62, status="done")
                      for i in range(8)]
    return life.live(WRITE)


HEALTHY: dict[str, Callable[[], Life]] = {f.__name__.strip("_"): f for f in (
    _chat, _bursts_of_prompts, _sleep_and_wake, _restart, _gaps, _no_card, _first_answer_reads_the_mapped_file,
    _full_power_at_full_clock, _deep_context, _old_swap, _many_at_once, _weights_in_ram_by_plan, _nothing_known,
    _good_drafts)}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_life_is_left_in_peace(name: str) -> None:
    life = HEALTHY[name]()
    assert len(life.views()) > 10
    said = [(round(view.now), finding.id, str(finding.proof)) for view in life.views() for finding in findings_of(view)]
    assert said == []


# -- troubles


def _wholly_in_ram() -> Life:
    return started(memory=sim.in_ram()).live(IDLE)


def _fewer() -> Life:
    return started(memory=sim.buffers(9 * GIB, 3 * GIB)).live(IDLE)


def _cache() -> Life:
    return started(memory=sim.buffers(cache=200 * MIB, cache_ram=824 * MIB)).live(IDLE)


def _spill() -> Life:
    return started().live(replace(WRITE, used=15 * GIB, shared=(0.1 * GIB, 0.1 * GIB)),
                          replace(WRITE, used=15.6 * GIB, shared=(0.1 * GIB, 1.5 * GIB)))


def _hot() -> Life:
    return started().live(WRITE, replace(WRITE, clock=1500.0, heat=91.0, reasons=("sw_thermal_slowdown",)))


def _power() -> Life:
    return started().live(WRITE, replace(WRITE, clock=1700.0, reasons=("sw_power_cap",)))


def _clock_untold() -> Life:
    life = started().live(WRITE, replace(WRITE, clock=1200.0))
    life.throttles.clear()
    return life.live(replace(WRITE, clock=1200.0))


def _slower_than_ever() -> Life:
    return started().live(SLOW)


def _decay() -> Life:
    return started(sim.plan(past=())).live(replace(WRITE, seconds=90, speed=(50.0, 15.0), context=(500.0, 1500.0)))


def _steal() -> Life:
    return started().live(replace(WRITE, host={"steal_pct": 18.0}))


def _queue_of_threads() -> Life:
    return started().live(replace(WRITE, host={"run_queue": 90.0}))


def _other_programs() -> Life:
    return started().live(replace(WRITE, host={"cpu_pct": 99.0, "process_cpu_pct": 800.0}))


def _pages() -> Life:
    return started().live(IDLE, replace(WRITE, host={"process_read_bytes_per_s": 220.0 * MIB}))


def _swapped() -> Life:
    return started().live(IDLE, replace(WRITE, host={"process_swap_bytes": 2.0 * GIB, "process_faults_per_s": 800.0}))


def _swap_grows() -> Life:
    return started().live(IDLE, replace(WRITE, host={"swap_used_bytes": (0.0, 2.0 * GIB)}))


def _card_waits() -> Life:
    return started().live(replace(WRITE, load=18.0))


def _bad_drafts() -> Life:
    life = started(sim.plan(draft_share=0.3))
    life.requests += [Request(90 + i, 90 + i, 0, 0.0, 1.0, draft_tokens=100, accepted_tokens=12, status="done")
                      for i in range(8)]
    return life.live(WRITE)


def _queue() -> Life:
    return started().live(replace(WRITE, seconds=40, waiting=(0.0, 9.0)))


def _full_context() -> Life:
    return started(sim.plan(past=())).live(replace(WRITE, context=(7000.0, 8100.0)))


def _exchanges(**data: Any) -> Life:
    life = started()
    life.exchanges += [Exchange(i, "", "POST", "/v1/chat/completions", "127.0.0.1", "curl/8", outcome="done", **data)
                       for i in range(5)]
    return life.live(IDLE)


def _slow_client() -> Life:
    return _exchanges(total_s=10.0, client_wait_s=6.0, gap_longest_s=0.2, gap_median_s=0.02)


def _bursty() -> Life:
    return _exchanges(total_s=10.0, client_wait_s=0.1, gap_longest_s=3.0, gap_median_s=0.02)


def _silence() -> Life:
    return started().live(WRITE, Span(20, answered=False))


def _no_token() -> Life:
    return started().live(WRITE, replace(WRITE, speed=0.0))


TROUBLES: dict[str, tuple[Callable[[], Life], str]] = {f.__name__.strip("_"): (f, found) for f, found in (
    (_wholly_in_ram, "on_cpu"), (_fewer, "fewer_layers"), (_cache, "cache_in_ram"), (_spill, "spill"),
    (_hot, "clocks_heat"), (_power, "clocks_power"), (_clock_untold, "clocks_clocks"),
    (_slower_than_ever, "below_past"), (_decay, "decaying"), (_steal, "threads"), (_queue_of_threads, "threads"),
    (_other_programs, "threads"), (_pages, "paging"), (_swapped, "swap"), (_swap_grows, "swap"),
    (_card_waits, "gpu_underused"), (_bad_drafts, "acceptance"), (_queue, "queue"), (_full_context, "context_full"),
    (_slow_client, "slow_client"), (_bursty, "bursty"), (_silence, "silent"), (_no_token, "stuck"))}


@pytest.mark.parametrize("name", TROUBLES)
def test_a_trouble_is_found_with_proof_and_a_remedy_and_nothing_else_is(name: str) -> None:
    make, expected = TROUBLES[name]
    life = make()
    found = findings_of(life.view)
    assert [f.id for f in found] == [expected]
    plain = found[0].as_dict()
    assert plain["id"] == f"degraded.{expected}"
    assert any(c.isdigit() for c in plain["proof"]), plain["proof"]
    assert len(plain["fix"]) > 20
    assert not ids(life.views()[2])


def test_every_detector_has_a_trouble() -> None:
    views = [make().view for make, _ in TROUBLES.values()]
    assert [d.__name__ for d in DETECTORS if not any(d(v) for v in views)] == []


def test_the_same_slow_answer_of_several_at_once_is_not_below_the_past() -> None:
    life = Life(sim.plan(slots=4), slots=4).live(LOADING, IDLE, replace(SLOW, busy=4))
    assert ids(life.view) == set()


def test_a_past_at_another_depth_says_nothing() -> None:
    past = [(60_000.0, 50.0)] * 9
    life = started(sim.plan(past=past)).live(replace(SLOW, context=(500.0, 2000.0)))
    assert ids(life.view) == set()


def test_offloaded_n_of_m_is_no_proof_of_layers_on_a_card() -> None:
    memory = replace(sim.in_ram(), offloaded=(49, 49))
    assert ids(started(memory=memory).live(IDLE).view) == {"on_cpu"}


def test_a_log_that_told_no_buffers_proves_nothing() -> None:
    assert ids(started(memory=sim.buffers(0, 0, 0, 0)).live(IDLE).view) == set()


def test_shared_memory_of_an_integrated_card_is_no_spill() -> None:
    life = started(sim.plan(integrated=frozenset({"CUDA0"}))).live(
        replace(WRITE, used=15.6 * GIB, shared=(0.1 * GIB, 1.5 * GIB)))
    assert ids(life.view) == set()


def test_a_decay_that_the_deeper_context_explains_is_none() -> None:
    steep = sim.plan(past=(), ceiling=(50.0, 10.0, 8192))
    life = started(steep).live(replace(WRITE, seconds=90, speed=(50.0, 15.0), context=(500.0, 7300.0)))
    assert ids(life.view) == set()


def test_more_threads_than_cores_are_offered_fewer() -> None:
    life = started(sim.plan(threads=32)).live(replace(WRITE, host={"run_queue": 90.0}))
    assert findings_of(life.view)[0].edits == (("threads", ("16",)),)


def test_one_thread_is_not_asked_to_be_fewer() -> None:
    life = started(sim.plan(threads=1)).live(replace(WRITE, host={"run_queue": 90.0}))
    assert "(-t)" not in str(findings_of(life.view)[0].remedy)


def test_an_idle_slot_full_of_an_old_conversation_is_not_nearly_full() -> None:
    full = SlotSample(0, False, "idle", 3, 8100.0, 8192.0, NAN, NAN, NAN, NAN, NAN)
    life = started().live(IDLE)
    sample = life.view.sample
    assert sample is not None
    assert findings_of(replace(life.view, sample=replace(sample, slots=(full,)))) == []


def test_before_anything_is_recorded_nothing_is_wrong() -> None:
    assert findings_of(View(now=0.0, series=Series())) == []
    assert findings_of(View(now=50.0, series=Series(), ready_t=NAN, memory=sim.in_ram(), plan=sim.plan())) == []
