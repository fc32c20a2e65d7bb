"""The RAM's speed is every byte that all threads read, over the time of the best round."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from paddock.hardware import ram_speed

BLOCK = 1 << 16


@pytest.mark.parametrize("threads", [1, 3])
def test_it_is_all_bytes_over_the_time_of_the_best_round(threads: int) -> None:
    # start, then per round: before, after, and the look at the limit from the second on
    ticks = iter([0.0, 0.0, 4.0, 4.0, 6.0, 6.0, 6.0, 6.5, 20.0])
    with patch.object(ram_speed.time, "perf_counter", lambda: next(ticks)):
        assert ram_speed.measure_ram_speed(10, threads, BLOCK) == threads * BLOCK / 0.5


def test_it_says_a_speed_by_itself() -> None:
    assert ram_speed.measure_ram_speed(0.001, block=BLOCK) > 0
