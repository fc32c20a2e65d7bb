"""A server deep in a prompt: /metrics and /slots do not answer, the process lives."""

from __future__ import annotations

import math
from typing import Any

import pytest

from paddock.session import Event, Sample, Sampler


class Reply:
    def __init__(self, code: int | None, data: Any = None) -> None:
        self.code, self.data = code, data


class Stuck:
    """Takes its whole time limit for each call, and never answers."""

    def __init__(self, clock: Any, which: set[str]) -> None:
        self.clock, self.which, self.asked, self.open = clock, which, [], 0

    def _ask(self, what: str) -> Reply:
        self.open += 1
        assert self.open == 1, "one call at a time"
        self.asked.append(what)
        if what in self.which:
            self.clock.now += 1.0
        self.open -= 1
        return Reply(None) if what in self.which else Reply(200, {"is_sleeping": False})

    def props(self) -> Reply:
        return self._ask("props")

    def slots(self) -> Reply:
        return self._ask("slots")

    def metrics(self) -> Reply:
        return self._ask("metrics")

    def close(self) -> None: ...


@pytest.mark.parametrize("which", [{"metrics", "slots"}, {"metrics", "slots", "props"}])
def test_no_answer_is_a_gap_and_it_is_asked_again_later_not_faster(clock: Any, which: set[str]) -> None:
    server, rows = Stuck(clock, which), []
    sampler = Sampler(lambda: server, lambda: None, rows.append, clock=clock, wait=lambda _s: True)
    sampler.open()
    pauses = []
    for _ in range(5):
        pauses.append(sampler.tick())
        clock.now += pauses[-1]
    sampler.close()
    samples = [row for row in rows if isinstance(row, Sample)]
    assert all(math.isnan(s.generation_per_s) and math.isnan(s.requests_processing) for s in samples)
    assert min(pauses) >= 1.0
    assert not [row for row in rows if isinstance(row, Event)], "nothing is said to be dead or switched off"
