"""What the detectors find becomes events of the session, once each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import runsim as sim

from paddock.hardware.model import DeviceReading, Reading
from paddock.server import Exit, State
from paddock.session import Event, Recorder, Sample
from paddock.session.detectors import DetectorWatch, Finding, View
from paddock.session.proxy.record import Exchange
from paddock.text import Text

NAN = sim.NAN
HOT = Finding("clocks_heat", Text("The card is hot."), Text("91 °C"), Text("Give it air."), "a line")
LATE = Finding("queue", Text("Requests wait."), Text("9 wait"), Text("More slots."), edits=(("parallel", ("4",)),))


class Script:
    """Finds what it is told to; keeps the views that it was given."""

    def __init__(self) -> None:
        self.now: Sequence[Finding] = ()
        self.views: list[View] = []

    def __call__(self, view: View) -> Sequence[Finding]:
        self.views.append(view)
        return self.now


@pytest.fixture
def rows() -> list[Any]:
    return []


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def recorder(rows: list[Any], clock: Any) -> Recorder:
    made = Recorder(rows.append, clock=clock, t0=clock())
    made.on_state(State.READY, clock(), None)
    return made


@pytest.fixture
def watch(recorder: Recorder, script: Script) -> DetectorWatch:
    return DetectorWatch(recorder, sim.plan, script)


def feed(watch: DetectorWatch, start: float, seconds: float, throttle: tuple[str, ...] | None = ()) -> None:
    t = start
    while t <= start + seconds:
        card = DeviceReading("CUDA0", 1.0, 1.0, 1.0, 90.0, 50.0, 2500.0, 9000.0, 200.0, 60.0, NAN, NAN, throttle)
        watch.on_row(Sample(t, 50.0, 0.0, 10.0, 1.0, 0.0, NAN, (), Reading(t, *[1.0] * 6, (card,)), True))
        t += 0.5


def told(rows: list[Any], kind: str) -> list[Event]:
    return [r for r in rows if isinstance(r, Event) and r.kind == kind]


def test_a_finding_is_told_once_with_proof_and_remedy(watch: DetectorWatch, script: Script, rows: list[Any]) -> None:
    script.now = [HOT]
    feed(watch, 1, 20)
    assert watch.findings == (HOT,)
    (event,) = told(rows, "issue")
    assert event.text == "The card is hot."
    assert event.data == {"id": "degraded.clocks_heat", "severity": "warning", "option": None, "proof": "91 °C",
                          "fix": "Give it air.", "line": "a line"}


def test_a_moment_is_no_finding(watch: DetectorWatch, script: Script, rows: list[Any]) -> None:
    for start in (1.0, 9.0, 17.0):
        script.now = [HOT]
        feed(watch, start, 1.0)
        script.now = []
        feed(watch, start + 2, 5)
    assert watch.findings == ()
    assert told(rows, "issue") == []


def test_a_pause_between_two_requests_ends_nothing(watch: DetectorWatch, script: Script, rows: list[Any]) -> None:
    script.now = [HOT]
    feed(watch, 1, 10)
    script.now = []
    feed(watch, 12, 10)
    assert watch.findings == (HOT,)
    script.now = [HOT]
    feed(watch, 23, 10)
    assert len(told(rows, "issue")) == 1
    assert told(rows, "recovered") == []


def test_what_is_over_is_told_as_over(watch: DetectorWatch, script: Script, rows: list[Any]) -> None:
    script.now = [HOT]
    feed(watch, 1, 10)
    script.now = []
    feed(watch, 12, 40)
    assert watch.findings == ()
    assert [e.data for e in told(rows, "recovered")] == [{"id": "degraded.clocks_heat"}]


def test_the_gravest_stands_first(watch: DetectorWatch, script: Script) -> None:
    script.now = [LATE]
    feed(watch, 1, 6)
    script.now = [HOT, LATE]
    feed(watch, 8, 8)
    assert [f.id for f in watch.findings] == ["clocks_heat", "queue"]


def test_nothing_is_looked_for_while_the_server_is_not_ready(
        watch: DetectorWatch, script: Script, recorder: Recorder, clock: Any, rows: list[Any]) -> None:
    script.now = [HOT]
    feed(watch, 1, 10)
    count = len(script.views)
    recorder.on_state(State.STOPPED, clock(), Exit(0, Text("stopped")))
    feed(watch, 12, 10)
    assert (len(script.views), watch.findings) == (count, ())
    assert len(told(rows, "recovered")) == 1


def test_a_restarted_server_begins_anew(
        watch: DetectorWatch, script: Script, recorder: Recorder, clock: Any) -> None:
    feed(watch, 1, 4)
    assert script.views[-1].ready_t == 0.0
    for moment, state in ((30.0, State.CRASHED), (31.0, State.STARTING), (32.0, State.LOADING), (40.0, State.READY)):
        recorder.on_state(state, clock() + moment, None)
    feed(watch, 41, 4)
    assert script.views[-1].ready_t == 40.0


def test_a_server_of_somebody_else_is_looked_at_without_states(script: Script, clock: Any) -> None:
    watch = DetectorWatch(Recorder(clock=clock, t0=clock()), sim.plan, script, foreign=True)
    feed(watch, 1, 6)
    assert script.views[-1].ready


def test_reasons_for_lowered_clocks_are_kept_once_a_reading(watch: DetectorWatch, script: Script) -> None:
    feed(watch, 1, 6, ("sw_power_cap",))
    rows = script.views[-1].throttles["CUDA0"]
    assert [t for t, _ in rows] == sorted({t for t, _ in rows})
    assert {reasons for _, reasons in rows} == {("sw_power_cap",)}


def test_a_driver_that_tells_no_reasons_leaves_none(watch: DetectorWatch, script: Script) -> None:
    feed(watch, 1, 6, None)
    assert script.views[-1].throttles == {}


def test_exchanges_of_the_proxy_reach_the_detectors_and_lost_prompts_become_events(
        watch: DetectorWatch, script: Script, rows: list[Any]) -> None:
    for number, reused in enumerate(("first", "same", "changed:400", "lost:900")):
        watch.on_exchange(Exchange(number, "", "POST", "/completion", "127.0.0.1", reused=reused, outcome="done",
                                   prompt_tokens=1000, cached_tokens=3))
    watch.on_exchange(Exchange(9, "", "POST", "/completion", "127.0.0.1"))
    feed(watch, 1, 4)
    assert [e.id for e in script.views[-1].exchanges] == [0, 1, 2, 3]
    assert [(e.data["exchange"], e.data["missed"]) for e in told(rows, "cache")] == [(2, False), (3, True)]


def test_an_event_in_full_carries_proof_and_remedy_and_others_are_their_text() -> None:
    data = HOT.as_dict()
    assert Event(1.0, "issue", data.pop("text"), data).in_full == "The card is hot. 91 °C Give it air."
    assert Event(1.0, "mark", "note: hello").in_full == "note: hello"
