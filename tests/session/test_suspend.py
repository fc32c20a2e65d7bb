"""The computer was suspended while a server ran."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest

from paddock.hardware import Reading
from paddock.server.model import Exit, State
from paddock.session import Event, Recorder, Sample, Sampler
from paddock.session.suspend import LEAST_S, SuspendWatch, ahead_s
from paddock.text import Text


class Readings:
    """A driver that answers until it is closed; how many were opened is counted."""

    opened = 0

    def __init__(self) -> None:
        Readings.opened += 1
        self.closed = False

    def read(self) -> Reading:
        assert not self.closed
        return Reading(0.0, 1.0, 2.0, 3.0, 0.0, 4.0, 5.0, ())

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("jumps", "slept"), [([0.0, 0.0], 0.0), ([0.0, LEAST_S - 0.1], 0.0), ([3.0, 3603.0], 3600.0),
                                              ([100.0, 40.0], 0.0)])
def test_only_a_jump_forward_is_a_suspend(jumps: list[float], slept: float) -> None:
    watch = SuspendWatch(iter(jumps).__next__)
    assert watch.slept_s() == slept


@pytest.mark.skipif(sys.platform != "linux", reason="the clock that counts suspended time is Linux'")
def test_this_computer_has_not_been_suspended_just_now() -> None:
    assert SuspendWatch(ahead_s).slept_s() == 0.0


def test_after_a_suspend_drivers_are_opened_anew_and_nothing_is_reckoned_across_it(fake_server: Any, clock: Any,
                                                                                   slot: Any) -> None:
    ahead = [0.0]
    rows: list[Sample | Event] = []
    Readings.opened = 0
    sampler = Sampler(lambda: fake_server, Readings, rows.append, clock=clock, wait=lambda _s: True,
                      suspended=SuspendWatch(lambda: ahead[0]))
    sampler.open()
    for decoded in (1, 21):
        fake_server.slots_data = [slot(task=1, busy=True, decoded=decoded, processed=10)]
        sampler.tick()
        clock.now += 1.0
    assert rows[-1].generation_per_s == 20.0  # type: ignore[union-attr]
    ahead[0] = 7200.0
    fake_server.slots_data = [slot(task=1, busy=True, decoded=22, processed=10)]
    sampler.tick()
    sampler.close()
    (event,) = [r for r in rows if isinstance(r, Event)]
    assert (event.kind, event.data) == ("state", {"suspended_s": 7200.0})
    assert "2 h" in event.text
    assert Readings.opened == 2
    assert math.isnan(rows[-1].generation_per_s), "a new window begins"  # type: ignore[union-attr]


@pytest.mark.parametrize("state", [State.STOPPED, State.CRASHED, State.FAILED])
def test_what_a_server_did_last_is_no_live_figure_once_it_has_ended(clock: Any, state: State) -> None:
    recorder = Recorder(clock=clock, t0=1000.0)
    busy = Sample(1.0, 45.0, math.nan, 10.0, 1.0, 0.0, math.nan, (), None, True)
    recorder.on_state(State.STARTING, 1000.0, None)
    recorder.on_row(busy)
    assert recorder.snapshot().sample is busy
    recorder.on_state(state, 1002.0, Exit(0, Text("x")))
    assert recorder.snapshot().sample is None
    recorder.on_row(Sample(2.0, 45.0, math.nan, 10.0, 1.0, 0.0, math.nan, (), None, True))  # a poll was under way
    assert recorder.snapshot().sample is None
    recorder.on_state(State.STARTING, 1003.0, None)
    recorder.on_row(busy)
    assert recorder.snapshot().sample is busy
