"""States: which follow which, what each method does in each, and how an end is told."""

from __future__ import annotations

import signal
import threading

import pytest
from serverkit import QUICK, Kit, Timing

from paddock.server import State


def test_a_server_that_loads_goes_through_all_states_in_order(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--load-seconds", "0.4")
    supervisor.stop()
    assert supervisor.join(10)
    assert recorder.states == [State.STARTING, State.LOADING, State.READY, State.STOPPING, State.STOPPED]
    assert recorder.times == sorted(recorder.times)


def test_a_list_of_models_that_answers_early_is_not_taken_for_ready(kit: Kit) -> None:
    supervisor, recorder = kit.make("--load-seconds", "30", "--models-early")
    supervisor.start()
    recorder.wait_for(State.LOADING)
    with supervisor.client() as client:
        assert client.models().ok
        assert not client.health().ok
    assert supervisor.state is State.LOADING


def test_start_says_starting_before_it_returns(kit: Kit) -> None:
    supervisor, _ = kit.make()
    assert supervisor.state is State.STOPPED
    supervisor.start()
    assert supervisor.state is State.STARTING


def test_start_while_it_runs_does_nothing(kit: Kit) -> None:
    supervisor, recorder = kit.ready()
    pid = supervisor.pid
    supervisor.start()
    supervisor.start()
    supervisor.stop()
    assert supervisor.join(10)
    assert pid is not None
    assert recorder.states.count(State.STARTING) == 1
    assert supervisor.pid is None


def test_stop_before_any_start_does_nothing(kit: Kit) -> None:
    supervisor, recorder = kit.make()
    supervisor.stop()
    assert supervisor.join(0)
    assert recorder.states == []
    assert supervisor.exit is None


@pytest.mark.parametrize("moment", [State.STARTING, State.LOADING, State.READY])
def test_stop_works_in_every_state_and_ends_in_stopped(kit: Kit, moment: State) -> None:
    supervisor, recorder = kit.make("--load-seconds", "0" if moment is State.READY else "30")
    supervisor.start()
    recorder.wait_for(moment)
    supervisor.stop()
    assert supervisor.join(10)
    assert recorder.states[-1] is State.STOPPED
    assert supervisor.state is State.STOPPED
    assert supervisor.exit is not None
    assert not supervisor.exit.forced


def test_stop_is_idempotent_and_safe_from_many_threads(kit: Kit) -> None:
    supervisor, recorder = kit.ready()
    threads = [threading.Thread(target=supervisor.stop) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert supervisor.join(10)
    supervisor.stop()
    assert recorder.states.count(State.STOPPING) == 1
    assert recorder.states.count(State.STOPPED) == 1


def test_stop_from_the_listener_itself_works(kit: Kit) -> None:
    supervisor, recorder = kit.make()
    joined: list[bool] = []

    def act(state: State) -> None:
        if state is State.READY:
            supervisor.stop()
            joined.append(supervisor.join(5))

    recorder.act = act
    supervisor.start()
    recorder.wait_for(State.STOPPED)
    assert joined == [False]


def test_start_after_the_end_starts_again(kit: Kit) -> None:
    supervisor, recorder = kit.ready()
    supervisor.stop()
    assert supervisor.join(10)
    supervisor.start()
    recorder.wait_for(State.READY, count=2)
    assert supervisor.exit is None


def test_start_while_stopping_starts_again_afterwards(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--ignore-term")
    supervisor.stop()
    recorder.wait_for(State.STOPPING)
    supervisor.start()
    recorder.wait_for(State.READY, count=2)
    assert recorder.states[3:5] == [State.STOPPED, State.STARTING]


def test_start_from_the_listener_at_the_very_end_is_not_lost(kit: Kit) -> None:
    supervisor, recorder = kit.make("--crash-after", "0.3")
    again = [True]

    def act(state: State) -> None:
        if state is State.CRASHED and again.pop():
            again.append(False)
            supervisor.start()

    recorder.act = act
    supervisor.start()
    recorder.wait_for(State.CRASHED, count=2)


@pytest.mark.parametrize("moment", [State.STARTING, State.LOADING, State.READY])
def test_restart_stops_and_starts_again(kit: Kit, moment: State) -> None:
    supervisor, recorder = kit.make("--load-seconds", "0" if moment is State.READY else "0.7")
    supervisor.start()
    recorder.wait_for(moment)
    supervisor.restart()
    recorder.wait_for(State.STARTING, count=2)
    recorder.wait_for(State.READY, count=2 if moment is State.READY else 1)


def test_restart_of_what_does_not_run_is_a_start(kit: Kit) -> None:
    supervisor, recorder = kit.make()
    supervisor.restart()
    recorder.wait_for(State.READY)


def test_stop_calls_off_a_restart_that_was_asked_for(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--ignore-term")
    supervisor.restart()
    recorder.wait_for(State.STOPPING)
    supervisor.stop()
    assert supervisor.join(10)
    assert recorder.states.count(State.STARTING) == 1


def test_an_end_before_ready_is_failed_and_never_restarted(kit: Kit) -> None:
    supervisor, recorder = kit.make("--crash-in-load", "0.2", "--load-seconds", "30", restart_limit=3)
    supervisor.start()
    assert supervisor.join(15)
    assert recorder.states[-1] is State.FAILED
    assert recorder.states.count(State.STARTING) == 1
    assert supervisor.exit is not None
    assert supervisor.exit.code == -signal.SIGABRT


def test_a_crash_is_restarted_so_often_and_no_more(kit: Kit) -> None:
    supervisor, recorder = kit.make("--crash-after", "0.3", restart_limit=2)
    supervisor.start()
    assert supervisor.join(20)
    assert recorder.states.count(State.STARTING) == 3
    assert recorder.states.count(State.CRASHED) == 3
    assert supervisor.state is State.CRASHED


def test_a_crash_is_not_restarted_unless_asked_for(kit: Kit) -> None:
    supervisor, recorder = kit.make("--crash-after", "0.3")
    supervisor.start()
    assert supervisor.join(10)
    assert recorder.states == [State.STARTING, State.READY, State.CRASHED] or recorder.states == [
        State.STARTING, State.LOADING, State.READY, State.CRASHED]


def test_the_pause_before_a_restart_doubles(kit: Kit) -> None:
    supervisor, recorder = kit.make("--crash-after", "0.3", restart_limit=2)
    supervisor.start()
    assert supervisor.join(20)
    crashes = [t for t, state in zip(recorder.times, recorder.states, strict=True) if state is State.CRASHED]
    starts = [t for t, state in zip(recorder.times, recorder.states, strict=True) if state is State.STARTING]
    assert starts[1] - crashes[0] >= QUICK.back_off
    assert starts[2] - crashes[1] >= 2 * QUICK.back_off


def test_stop_in_the_pause_before_a_restart_calls_it_off(kit: Kit) -> None:
    supervisor, recorder = kit.make("--crash-after", "0.3", restart_limit=5, timing=Timing(back_off=30))
    supervisor.start()
    recorder.wait_for(State.CRASHED)
    supervisor.stop()
    assert supervisor.join(5)
    assert recorder.states[-2:] == [State.CRASHED, State.STOPPED]


def test_a_server_that_ends_in_order_by_itself_is_stopped_not_crashed(kit: Kit) -> None:
    supervisor, _ = kit.make("--crash-after", "0.3", "--exit-code", "0", restart_limit=3)
    supervisor.start()
    assert supervisor.join(10)
    assert supervisor.state is State.STOPPED
    assert supervisor.exit is not None
    assert supervisor.exit.code == 0


def test_the_last_line_comes_before_the_last_state(kit: Kit) -> None:
    _, recorder = kit.make("--print", "one", "--print", "two", "--exit-code", "1")
    supervisor = kit.made[-1]
    supervisor.start()
    assert supervisor.join(10)
    assert recorder.texts == ["one", "two"]
    assert recorder.lines_at_state[-1] == 2


def test_states_come_from_the_supervisors_thread_alone(kit: Kit) -> None:
    supervisor, recorder = kit.ready()
    supervisor.stop()
    assert supervisor.join(10)
    assert recorder.threads == {"paddock-supervisor"}


def test_a_load_that_takes_too_long_is_ended_as_failed(kit: Kit) -> None:
    supervisor, recorder = kit.make("--load-seconds", "60", load_timeout_s=0.5)
    supervisor.start()
    assert supervisor.join(10)
    assert recorder.states[-1] is State.FAILED
    assert supervisor.exit is not None
    assert supervisor.exit.diagnosis is not None
    assert supervisor.exit.diagnosis.id == "load-timeout"


def test_two_supervisors_do_not_disturb_each_other(kit: Kit) -> None:
    first, _ = kit.ready("--say", "I am the first")
    second, seen = kit.ready("--say", "I am the second")
    first.stop()
    assert first.join(10)
    assert second.state is State.READY
    assert second.client().health().ok
    assert not [text for text in seen.texts if "first" in text]
