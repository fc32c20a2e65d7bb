"""Many hands at once, and requests at the worst moments: it always ends, and nothing is left."""

from __future__ import annotations

import os
import random
import sys
import threading
import time

import psutil
import pytest
from serverkit import FAKE, Kit, Recorder, gone_within, owner, session_of

from paddock.server import State

OVER = (State.STOPPED, State.FAILED, State.CRASHED)
FOLLOWS = {
    State.STARTING: {State.LOADING, State.READY, State.STOPPING, *OVER},
    State.LOADING: {State.READY, State.STOPPING, State.FAILED},
    State.READY: {State.STOPPING, State.CRASHED, State.STOPPED},
    State.STOPPING: {State.STOPPED, State.FAILED},
    State.STOPPED: {State.STARTING},
    State.FAILED: {State.STARTING},
    State.CRASHED: {State.STARTING, State.STOPPED},
}


def servers() -> list[int]:
    """Fake servers that descend from this process."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if str(FAKE) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def assert_orderly(recorder: Recorder) -> None:
    for before, after in zip(recorder.states, recorder.states[1:], strict=False):
        assert after in FOLLOWS[before], recorder.states


@pytest.mark.parametrize("seed", range(3))
def test_stop_at_any_moment_of_a_start_ends_it(kit: Kit, seed: int) -> None:
    rng = random.Random(seed)
    supervisor, recorder = kit.make()
    for _ in range(8):
        supervisor.start()
        time.sleep(rng.random() * 0.2)
        supervisor.stop()
        assert supervisor.join(10)
        assert supervisor.state is State.STOPPED
        assert servers() == []
    assert_orderly(recorder)


def test_many_threads_that_ask_for_different_things_leave_an_orderly_end(kit: Kit) -> None:
    supervisor, recorder = kit.make(restart_limit=2)

    def meddle(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(12):
            rng.choice((supervisor.start, supervisor.stop, supervisor.restart, supervisor.progress,
                        lambda: supervisor.log_tail(5)))()
            time.sleep(rng.random() * 0.06)

    threads = [threading.Thread(target=meddle, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    supervisor.stop()
    assert supervisor.join(10)
    assert supervisor.state in OVER
    assert_orderly(recorder)
    assert servers() == []


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is Linux'")
def test_the_death_signal_alone_is_enough() -> None:
    process, server = owner("--ignore-term")
    wardens = [other.pid for other in session_of(server) if other.pid != server]
    assert len(wardens) == 1
    os.kill(wardens[0], 9)
    process.kill()
    process.communicate()
    assert gone_within(server, 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_of_our_own_ends_the_server_and_is_told(kit: Kit) -> None:
    """A listener that raises must not leave a run that neither runs nor ends."""
    supervisor, recorder = kit.make()
    pids: list[int] = []

    def fail_once(state: State) -> None:
        if state is State.READY and not pids:
            pids.append(supervisor.pid or 0)
            raise RuntimeError("an error of ours")

    recorder.act = fail_once
    supervisor.start()
    assert recorder.wait_for(State.CRASHED) is State.CRASHED
    assert recorder.exits[-1] is not None
    assert "supervision itself failed" in str(recorder.exits[-1].reason)
    assert supervisor.join(10)
    assert gone_within(pids[0], 5)
