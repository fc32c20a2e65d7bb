"""Steps in memory and the requests that they belong to."""

from __future__ import annotations

import math

import pytest

from paddock.session import Request, Series
from paddock.session.detectors.jumps import jumps_of

MIB = 1 << 20


def series(**columns: list[float]) -> Series:
    made = Series()
    for i in range(len(next(iter(columns.values())))):
        made.append(float(i), {name.replace("__", "."): values[i] * MIB for name, values in columns.items()})
    return made


def request(number: int, start: float, end: float | None) -> Request:
    return Request(number, number, 0, start, end, status="done" if end else "active")


def test_a_step_names_the_request_that_ran() -> None:
    found = jumps_of(series(CUDA0__process_bytes=[100, 100, 300, 300]), ["CUDA0"], [request(7, 1.5, 3.0)], 0, 9)
    assert [(j.t, j.device, j.bytes, j.request) for j in found] == [(2.0, "CUDA0", 200 * MIB, 7)]


def test_a_request_that_just_ended_is_meant_too_since_readings_lag() -> None:
    found = jumps_of(series(CUDA0__process_bytes=[100, 100, 300]), ["CUDA0"], [request(7, 0.2, 1.0)], 0, 9)
    assert found[0].request == 7


def test_of_several_requests_nobody_can_tell_which() -> None:
    both = [request(7, 0.0, None), request(8, 0.0, None)]
    assert jumps_of(series(CUDA0__process_bytes=[100, 300]), ["CUDA0"], both, 0, 9)[0].request is None


def test_a_load_is_one_step_and_not_many() -> None:
    found = jumps_of(series(process_rss_bytes=[100, 200, 300, 400, 400, 400]), [], [], 0, 9)
    assert [(j.device, j.t, j.bytes) for j in found] == [("Host", 1.0, 300 * MIB)]


def test_memory_that_is_given_back_is_a_step_down_of_its_own() -> None:
    found = jumps_of(series(process_rss_bytes=[100, 400, 100]), [], [], 0, 9)
    assert [j.bytes for j in found] == [300 * MIB, -300 * MIB]


@pytest.mark.parametrize("values", [[100, 101, 102, 103], [math.nan, math.nan, 100, 100], [100, math.nan, 110, 120]])
def test_small_changes_and_gaps_are_no_steps(values: list[float]) -> None:
    assert jumps_of(series(CUDA0__process_bytes=values), ["CUDA0"], [], 0, 9) == []


def test_a_step_over_a_gap_is_seen_after_it() -> None:
    found = jumps_of(series(CUDA0__process_bytes=[100, math.nan, math.nan, 900]), ["CUDA0"], [], 0, 9)
    assert [(j.t, j.bytes) for j in found] == [(3.0, 800 * MIB)]


def test_a_device_that_was_never_read_has_none() -> None:
    assert jumps_of(series(process_rss_bytes=[1, 1]), ["CUDA9"], [], 0, 9) == []
