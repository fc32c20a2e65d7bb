"""What the detectors found, as the banner of Run says it: one at a time with a count, each to be closed."""

from __future__ import annotations

from collections.abc import Callable

import fakedesk as fake
import pytest
from PySide6.QtWidgets import QPushButton

from paddock.desktop.degraded import FindingsWatch
from paddock.desktop.dock.control import state_words
from paddock.desktop.pages.run import RunPage
from paddock.desktop.pages.run.banner import Messages, messages_of
from paddock.server.model import State
from paddock.session.detectors import Finding
from paddock.text import Text

HOT = Finding("clocks_heat", Text("You are degraded: CUDA0 has lowered its clock."), Text("1,500 MHz, 2,500 before."),
              Text("Give it air."))
FULL = Finding("context_full", Text("Slot 0 has nearly used up its context."), Text("8,000 of 8,192 tokens, 98 %."),
               Text("Give it more context (-c)."), edits=(("ctx-size", ("16384",)),))


@pytest.fixture
def run() -> fake.FakeRun:
    made = fake.busy_run()
    made.findings = (HOT, FULL)
    return made


@pytest.fixture
def page(run_page_of: Callable[..., RunPage], run: fake.FakeRun) -> RunPage:
    return run_page_of(run)


def button(page: RunPage, words: str) -> QPushButton:
    return next(b for b in page.banner.findChildren(QPushButton) if words in b.text())


def test_the_gravest_stands_first_with_its_proof_and_its_remedy(page: RunPage) -> None:
    assert page.banner.isVisible()
    said = page.banner.accessibleName()
    assert said == "You are degraded: CUDA0 has lowered its clock. 1,500 MHz, 2,500 before. Give it air."


def test_the_next_one_is_a_press_away_and_after_the_last_comes_the_first(page: RunPage) -> None:
    button(page, "Next, 1 of 2").click()
    assert "nearly used up" in page.banner.accessibleName()
    button(page, "Next, 2 of 2").click()
    assert "lowered its clock" in page.banner.accessibleName()


def test_a_remedy_that_is_a_setting_goes_into_the_plan(page: RunPage) -> None:
    button(page, "Next").click()
    button(page, "Use --ctx-size 16384").click()
    assert page.desk.plan.get("ctx-size") == "16384"


def test_a_closed_one_gives_way_to_the_next_and_stays_closed_when_its_figures_move(
        page: RunPage, run: fake.FakeRun) -> None:
    page.banner._dismiss()
    assert "nearly used up" in page.banner.accessibleName()
    page.banner._dismiss()
    assert not page.banner.isVisible()
    run.findings = (Finding(HOT.id, HOT.what, Text("1,400 MHz."), HOT.remedy), FULL)
    page._pull(labels=True)
    assert not page.banner.isVisible()


def test_figures_that_move_are_seen_and_what_is_over_goes_away(page: RunPage, run: fake.FakeRun) -> None:
    run.findings = (Finding(HOT.id, HOT.what, Text("1,400 MHz."), HOT.remedy),)
    page._pull(labels=True)
    assert "1,400 MHz" in page.banner.accessibleName()
    run.findings = ()
    page._pull(labels=True)
    assert not page.banner.isVisible()


def test_the_banner_is_built_anew_only_when_it_says_something_else(page: RunPage) -> None:
    before = button(page, "Next")
    page._pull(labels=True)
    assert button(page, "Next") is before


def test_why_a_server_ended_comes_before_everything_else(run: fake.FakeRun) -> None:
    run.diagnoses = [fake.DEGRADED]
    assert [m.id for m in messages_of(run)] == ["", "degraded.clocks_heat", "degraded.context_full"]
    run.state = State.STOPPED
    assert all(not m.id for m in messages_of(run)), "a server that is gone is not degraded"


def test_the_dock_says_degraded_and_those_who_show_it_hear_of_the_change(
        qtbot, page: RunPage, run: fake.FakeRun) -> None:
    assert state_words(page.desk)[1:] == ("Ready, degraded", "warn")
    watch = FindingsWatch(page.desk)
    with qtbot.waitSignal(page.desk.runDiagnosed) as first:
        watch.look()
    assert first.args == [run, None]
    with qtbot.assertNotEmitted(page.desk.runDiagnosed):
        watch.look()
    run.findings = ()
    with qtbot.waitSignal(page.desk.runDiagnosed):
        watch.look()
    assert state_words(page.desk)[1] == "Ready"


def test_each_run_has_messages_of_its_own(run: fake.FakeRun) -> None:
    other = fake.busy_run()
    other.findings = (HOT,)
    messages = Messages()
    first, _, _ = messages.current(run)
    assert first is not None
    messages.close(run, first)
    assert messages.current(other)[0] is not None
    assert messages.current(fake.busy_run()) == (None, 0, 0)
