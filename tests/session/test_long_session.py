"""Hours of samples: memory stays within bounds, and the newest window costs what it cost at first."""

from __future__ import annotations

import math

import psutil

from paddock.hardware.model import DeviceReading, Reading
from paddock.session import Recorder, Sample, SlotSample

TICKS = 100_000
GROWTH = 50 << 20


def sample(tick: int) -> Sample:
    slots = tuple(SlotSample(i, True, "generating", 1, 100.0 + tick % 900, 4096.0, 10.0, float(tick), 40.0, math.nan,
                             math.nan) for i in range(2))
    card = DeviceReading("CUDA0", 1e10, 2e10, 9e9, 50.0, 20.0, 1000.0, 2000.0, 99.0, 60.0, math.nan, math.nan, None)
    reading = Reading(float(tick // 5), 10.0, 1e9, 2e9, 0.0, 100.0, 5e8, (card,))
    return Sample(tick * 0.2, 40.0, math.nan, 200.0, 2.0, 0.0, math.nan, slots, reading, True)


def test_memory_is_bounded_over_a_hundred_thousand_ticks() -> None:
    recorder = Recorder(t0=0.0, clock=lambda: 0.0)
    recorder.on_row(sample(0))
    process = psutil.Process()
    before = process.memory_info().rss
    for tick in range(1, TICKS):
        recorder.on_row(sample(tick))
    assert process.memory_info().rss - before < GROWTH
    assert recorder.series.bytes < GROWTH
    end = TICKS * 0.2
    for span in (120.0, 3600.0, end):
        t, values = recorder.series.view("generation_per_s", end - span, end, 800)
        assert len(t) == len(values) < 2 * 2 * 800
