"""Requests that the log tells and exchanges that the proxy saw, put together."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.session.joining import Joiner
from paddock.session.model import Request
from paddock.session.proxy import Exchange


def exchange(id_: int, start: float, end: float, path: str = "/v1/chat/completions", **more: Any) -> Exchange:
    return Exchange(id_, "", "POST", path, "127.0.0.1", t_start=start, total_s=end - start,
                    **{"outcome": "done", **more})


def request(number: int, start: float, end: float, **more: Any) -> Request:
    return Request(number, number, more.pop("slot", 0), start, t_end=end, **{"status": "done", **more})


class Both:
    def __init__(self) -> None:
        self.joins: dict[int, int | None] = {}
        self.joiner = Joiner(lambda r: self.joins.__setitem__(r.number, r.exchange))


@pytest.fixture
def both() -> Both:
    return Both()


COUNTS = {"generated_tokens": 8, "evaluated_tokens": 5}


def test_what_agrees_is_joined_at_once_whichever_side_ends_first(both: Both) -> None:
    both.joiner.request(request(1, 1.0, 2.0, **COUNTS))
    both.joiner.exchange(exchange(7, 0.99, 2.01, **COUNTS))
    both.joiner.exchange(exchange(8, 3.0, 4.0, **COUNTS))
    both.joiner.request(request(2, 3.01, 3.99, **COUNTS))
    assert both.joins == {1: 7, 2: 8}


def test_equal_counts_at_the_same_time_are_told_apart_by_the_speeds(both: Both) -> None:
    both.joiner.request(request(1, 1.0, 2.00, generation_per_s=20.51, **COUNTS))
    both.joiner.request(request(2, 1.0, 2.01, generation_per_s=31.27, slot=1, **COUNTS))
    both.joiner.exchange(exchange(7, 0.99, 2.005, generation_per_s=31.2688, **COUNTS))
    both.joiner.exchange(exchange(8, 0.99, 2.006, generation_per_s=20.5062, **COUNTS))
    assert both.joins == {1: 8, 2: 7}


def test_a_slot_that_both_tell_speaks(both: Both) -> None:
    both.joiner.request(request(1, 1.0, 2.0, slot=3, **COUNTS))
    both.joiner.exchange(exchange(7, 0.9, 2.0, slot=2, **COUNTS))
    assert both.joins == {}
    both.joiner.exchange(exchange(8, 0.9, 2.3, slot=3, **COUNTS))
    assert both.joins == {1: 8}


def test_other_counts_are_another_request(both: Both) -> None:
    both.joiner.request(request(1, 1.0, 2.0, generated_tokens=9, evaluated_tokens=5))
    both.joiner.exchange(exchange(7, 0.9, 2.0, **COUNTS))
    lonely = both.joiner.settle(10.0)
    assert (both.joins, [e.id for e in lonely]) == ({}, [7])


def test_what_only_the_time_speaks_for_waits_for_a_better_one(both: Both) -> None:
    """The line of request 1 is read late: request 2 must not take its exchange."""
    both.joiner.request(request(2, 1.0, 2.10))
    both.joiner.exchange(exchange(7, 0.9, 2.00, "/v1/embeddings"))
    assert both.joins == {}
    both.joiner.request(request(1, 1.0, 1.99))
    both.joiner.exchange(exchange(8, 0.9, 2.11, "/v1/embeddings"))
    both.joiner.settle(3.0)
    assert both.joins == {1: 7, 2: 8}


def test_a_batch_of_inputs_is_several_requests_of_one_exchange(both: Both) -> None:
    for number in (1, 2, 3):
        both.joiner.request(request(number, 1.0, 1.2 + number / 100))
    both.joiner.exchange(exchange(7, 0.9, 1.25, "/v1/embeddings"))
    both.joiner.settle(3.0)
    assert both.joins == {1: 7, 2: 7, 3: 7}


def test_further_answers_to_one_prompt_belong_to_it(both: Both) -> None:
    both.joiner.request(request(1, 1.0, 2.0, prompt_tokens=5, **COUNTS))
    both.joiner.request(request(2, 1.0, 2.0, slot=1, is_child=True, generated_tokens=8, prompt_tokens=5))
    both.joiner.exchange(exchange(6, 0.9, 2.0, **{**COUNTS, "evaluated_tokens": 4}))
    both.joiner.request(request(3, 1.0, 2.0, slot=2, prompt_tokens=4, **{**COUNTS, "evaluated_tokens": 4}))
    both.joiner.exchange(exchange(7, 0.9, 2.02, **COUNTS))
    both.joiner.settle(4.0)
    assert both.joins == {1: 7, 2: 7, 3: 6}


def test_what_a_client_left_is_joined_although_the_server_stops_later(both: Both) -> None:
    both.joiner.exchange(exchange(7, 1.0, 2.0, outcome="cancelled", generated_tokens=None))
    assert both.joiner.settle(9.0) == []
    both.joiner.request(request(1, 1.1, 9.5, status="cancelled", generated_tokens=3))
    both.joiner.settle(11.0)
    assert both.joins == {1: 7}


def test_an_exchange_that_no_slot_took_is_given_back_once(both: Both) -> None:
    both.joiner.exchange(exchange(7, 1.0, 1.01, outcome="failed", status=400))
    assert both.joiner.settle(1.5) == []
    assert [e.id for e in both.joiner.settle(5.0)] == [7]
    assert both.joiner.settle(math.inf) == []


@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0.05, 5), st.integers(1, 3), st.integers(1, 3)), max_size=12),
       st.randoms(use_true_random=False))
def test_no_two_requests_that_make_tokens_share_an_exchange(made: list[tuple[float, float, int, int]], random: Any
                                                            ) -> None:
    both = Both()
    told: list[Request | Exchange] = []
    for i, (start, length, generated, evaluated) in enumerate(made, start=1):
        counts = {"generated_tokens": generated, "evaluated_tokens": evaluated}
        told.append(request(i, start + 0.01, start + length - 0.01, slot=i, **counts))
        told.append(exchange(100 + i, start, start + length, generation_per_s=float(i), **counts))
    random.shuffle(told)
    for one in told:
        if isinstance(one, Request):
            both.joiner.request(replace(one, generation_per_s=float(one.number)))
        else:
            both.joiner.exchange(one)
    both.joiner.settle(math.inf)
    assert sorted(both.joins) == [i + 1 for i in range(len(made))]
    assert len(set(both.joins.values())) == len(made)
