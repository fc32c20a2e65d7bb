"""The RAM's speed counts every byte that was read, of every thread, for the time that passed."""

from __future__ import annotations

import itertools
import threading
from unittest.mock import patch

import pytest

from paddock.hardware import ram_speed


@pytest.mark.parametrize("threads", [1, 3])
def test_it_is_bytes_over_time_summed_over_threads(threads: int) -> None:
    clock = threading.local()

    def now() -> float:
        clock.ticks = getattr(clock, "ticks", None) or itertools.count()
        return next(clock.ticks) * 0.25

    with patch.object(ram_speed.time, "perf_counter", now):
        found = ram_speed.measure_ram_speed(0.5, threads, block=1 << 16)
    assert found == threads * (1 << 16) / 0.25


def test_it_says_a_speed_by_itself() -> None:
    assert ram_speed.measure_ram_speed(0.001, block=1 << 16) > 0
