"""The page Sessions on an invented history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fakedesk as fake
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from paddock.desktop.demo import Summary, find_sample, report_text
from paddock.desktop.pages.sessions import SessionsPage
from paddock.desktop.pages.sessions.compare import Side, _cache_line, headline, interval, lines_of, speed_line
from paddock.desktop.pages.sessions.detail import figures_of, setup_of
from paddock.desktop.pages.sessions.manypane import rows_of
from paddock.desktop.pages.sessions.memory import Compared, compare, main_device
from paddock.desktop.pages.sessions.rows import (
    CHOOSE,
    DURATION,
    MODEL,
    SPEED,
    START,
    STATE,
    SessionsModel,
    duration_words,
)
from paddock.desktop.pages.sessions.sketches import Cloud
from paddock.desktop.state import Desk
from paddock.errors import AppError
from paddock.session.model import Event, MarkChange, Request
from paddock.store.rows import SessionRow

GIB = 1 << 30


@pytest.fixture
def workspace(tmp_path: Path) -> fake.FakeWorkspace:
    return fake.FakeWorkspace(tmp_path, (), (), fake.sessions())


@pytest.fixture
def desk(qtbot, workspace: fake.FakeWorkspace) -> Iterator[Desk]:
    made = Desk(workspace)  # type: ignore[arg-type]
    yield made
    made.close()


@pytest.fixture
def page(qtbot, desk: Desk) -> SessionsPage:
    made = SessionsPage(desk)
    qtbot.addWidget(made)
    made.resize(1216, 744)
    made.show()
    qtbot.waitUntil(lambda: made.model.rowCount() > 0)
    return made


def opened(qtbot, page: SessionsPage, session_id: int) -> SessionsPage:
    page.show_item(session_id)
    qtbot.waitUntil(lambda: page.open_id == session_id)
    return page


# -- the list ------------------------------------------------------------


def test_the_newest_come_first_and_states_are_words(page: SessionsPage) -> None:
    words = [page.model.index(i, STATE).data() for i in range(5)]
    assert words == ["stopped", "crashed", "stopped", "did not start", "interrupted"]
    assert page.header.note.full_text() == "5 sessions, 1 interrupted"
    assert page.model.index(0, DURATION).data() == "14 min 30 s"
    assert page.model.index(0, SPEED).data() == "45.0"
    assert page.model.index(3, SPEED).data() == "–"


def test_what_is_not_known_sorts_last(page: SessionsPage) -> None:
    page.view._sort(SPEED)
    speeds = [page.model.index(i, SPEED).data() for i in range(5)]
    assert speeds == ["45.0", "44.0", "43.0", "41.0", "–"]
    page.view._sort(SPEED)
    assert [page.model.index(i, SPEED).data() for i in range(5)] == ["41.0", "43.0", "44.0", "45.0", "–"]


def test_searching_asks_the_database(qtbot, page: SessionsPage) -> None:
    page.search.setText("gpt-oss")
    qtbot.waitUntil(lambda: page.model.rowCount() == 2)
    page.search.setText("nothing")
    qtbot.waitUntil(lambda: page.lists.currentWidget() is page.nothing)
    page.nothing.buttons[0].click()
    qtbot.waitUntil(lambda: page.model.rowCount() == 5)


def test_an_empty_history_says_what_to_do(qtbot, desk: Desk, workspace: fake.FakeWorkspace) -> None:
    workspace.past.clear()
    made = SessionsPage(desk)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(lambda: made.lists.currentWidget() is made.empty)
    with qtbot.waitSignal(desk.pageWanted) as wanted:
        made.empty.buttons[0].click()
    assert wanted.args[0] == "launch"


def test_a_running_session_has_no_duration() -> None:
    model = SessionsModel()
    row = SessionRow(1, "2026-12-01T10:00:00.000+00:00", None, "ready", None, None, 0, 0)
    model.set_rows([row], {})
    assert model.index(0, DURATION).data() == "–"
    assert model.index(0, MODEL).data() == "no model named"
    model.set_rows([replace(row, start="not a stamp")], {})
    assert model.index(0, START).data() == "–"
    assert duration_words(8.4) == "8 s"


# -- one session ------------------------------------------------------------


def test_a_session_opens_with_everything(qtbot, page: SessionsPage) -> None:
    detail = opened(qtbot, page, 5).detail
    assert detail.isVisible()
    assert detail.requests.model.rowCount() == 115
    assert detail.plots.stack.window_s[0] == 0.0
    assert detail.plots.stack.window_s[1] >= 870.0
    assert detail.command_text().startswith("CUDA_DEVICE_ORDER=PCI_BUS_ID /opt/llama serve -m ")
    assert len(detail.log.view.lines) == 200
    assert detail.events.shown == 3
    for i in range(detail.tabs.count()):
        detail.tabs.setCurrentIndex(i)
        detail.grab()


def test_figures_of_the_past_are_medians(qtbot, page: SessionsPage) -> None:
    shown = figures_of(opened(qtbot, page, 5).detail.detail)
    assert shown[0].note == "median of 115"
    assert shown[5].title == "Memory, CUDA0"
    assert shown[5].note == "as predicted"


def test_a_session_that_did_not_start_says_why(qtbot, page: SessionsPage) -> None:
    detail = opened(qtbot, page, 2).detail
    assert detail._why.full_text() == "out of memory on CUDA0"
    assert detail.requests.pages.currentWidget() is detail.requests.empty
    assert figures_of(detail.detail)[0].value == "–"
    assert figures_of(detail.detail)[5].value == "–"
    assert figures_of(detail.detail)[1].note == "no request"


def test_without_a_prompt_long_enough_the_figure_says_so(qtbot, page: SessionsPage) -> None:
    seen = opened(qtbot, page, 5).detail.detail
    short = replace(seen, requests=[replace(r, evaluated_tokens=8) for r in seen.requests])
    shown = figures_of(short)[1]
    assert (shown.value, shown.note) == ("–", "prompts too short")


def test_the_plan_of_a_session_goes_back_to_launch(qtbot, page: SessionsPage, desk: Desk) -> None:
    detail = opened(qtbot, page, 5).detail
    with qtbot.waitSignal(desk.pageWanted) as wanted:
        detail._plan.click()
    assert wanted.args[0] == "launch"
    assert desk.plan.get("ctx-size") == "32768"


def test_the_command_is_copied(qtbot, page: SessionsPage) -> None:
    detail = opened(qtbot, page, 5).detail
    detail._copy.click()
    assert QGuiApplication.clipboard().text() == detail.command_text()


def test_deleting_asks_and_closes_it(qtbot, page: SessionsPage, workspace: fake.FakeWorkspace) -> None:
    opened(qtbot, page, 5)
    page.delete(5)
    qtbot.waitUntil(lambda: page.model.rowCount() == 4)
    assert workspace.deleted == [5]
    assert page.open_id is None
    assert not page._right.isVisible()


def test_a_session_that_is_gone_is_told(qtbot, page: SessionsPage, desk: Desk) -> None:
    with qtbot.waitSignal(desk.failed) as failed:
        page.show_item(99)
    assert "99" in str(failed.args[0])
    assert page.open_id is None


@pytest.mark.parametrize("size", [(1216, 744), (805, 477)])
def test_sessions_fit_their_page(qtbot, page: SessionsPage, size: tuple[int, int]) -> None:
    page.resize(*size)
    opened(qtbot, page, 5)
    page.grab()
    assert (page.width(), page.height()) == size
    assert page._left.isVisible() is (size[0] > 1000)
    page.close_session()
    assert page._left.isVisible()


def test_keys_open_a_session(qtbot, page: SessionsPage) -> None:
    page.view.setCurrentIndex(page.model.index(1, 0))
    qtbot.keyClick(page.view, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.open_id == 4)


# -- memory ------------------------------------------------------------


def test_predicted_beside_measured_by_device_and_term() -> None:
    detail = fake.sessions()[0]
    lines = compare(detail.estimate, detail.actual)
    weights = next(x for x in lines if (x.device, x.term) == ("CUDA0", "model"))
    assert weights == Compared("CUDA0", "model", 13 * GIB, int(12.9 * GIB))
    assert weights.difference == "−102 MiB, −0.8 %"
    peak = next(x for x in lines if (x.device, x.term) == ("Host", "process"))
    assert peak.predicted is None
    assert main_device(lines) == ("CUDA0", int(13 * GIB) + int(2.4 * GIB) + int(0.5 * GIB) + int(0.2 * GIB),
                                  int(16.1 * GIB))


def test_on_a_processor_ram_is_the_sum_that_was_allocated() -> None:
    answer = {"main": [{"name": "Host", "model": 235 << 20, "context": 62 << 20, "compute": 29 << 20}]}
    lines = compare(answer, answer | {"measured": {"Host": {"process_bytes": 400 << 20}}})
    assert main_device(lines) == ("Host", 326 << 20, 326 << 20)


def test_without_figures_nothing_is_made_up() -> None:
    assert compare(None, None) == []
    assert main_device([]) is None
    assert Compared("CUDA0", "model", None, 5).difference == "–"


def test_the_setup_comes_from_the_stored_columns() -> None:
    series = fake.fill(fake.FakeRecorder()).series
    setup = setup_of(fake.sessions()[0], series)
    assert setup.devices == ("CUDA0", "CUDA1")
    assert setup.slots == 4
    assert setup.context_limit is None
    assert round(setup.predicted_bytes["CUDA0"] / GIB, 1) == 16.1


# -- demo ------------------------------------------------------------


def test_the_sample_is_found_by_its_variable(tmp_path: Path, workspace: fake.FakeWorkspace,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sample.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setenv("PADDOCK_SAMPLE", str(file))
    assert find_sample(workspace) == file  # type: ignore[arg-type]


def test_a_missing_sample_says_how_to_get_it(tmp_path: Path, workspace: fake.FakeWorkspace,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDOCK_SAMPLE", str(tmp_path / "nowhere.gguf"))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(AppError, match=r"scripts/start\.py"):
        find_sample(workspace)  # type: ignore[arg-type]


def test_the_report_of_the_demo_has_estimate_and_truth() -> None:
    answer = {"main": [{"name": "Host", "model": 100 << 20, "context": 0, "compute": 0}]}
    summary = Summary(["llama", "serve"], "llama.cpp 1", "Gemma", "", 3, answer, "fits", answer, 1.5,
                      [{"generated_tokens": 160, "generation_per_s": 48.8, "prompt_per_s": 90.3, "ttft_s": 0.39}], 36,
                      ["1-models-light.png"], 0, "Stopped.")
    text = report_text(summary)
    assert "Host: predicted 100 MiB, allocated 100 MiB (0.0 %)" in text
    assert "160 tokens at 48.8 t/s" in text
    assert "1-models-light.png" in text


# -- compare ------------------------------------------------------------


def side(session_id: int) -> Side:
    detail = next(d for d in fake.sessions() if d.row.id == session_id)
    return Side(detail, fake.fill(fake.FakeRecorder()).series)


def test_two_chosen_sessions_stand_beside_each_other(qtbot, page: SessionsPage) -> None:
    page.view.setCurrentIndex(page.model.index(0, STATE))
    qtbot.keyClick(page.view, Qt.Key.Key_Space)
    assert page._choice_bar.isVisible()
    assert not page._right.isVisible()
    page.view._open_index(page.model.index(1, CHOOSE))
    qtbot.waitUntil(page.compare.isVisible)
    assert page.model.chosen == [4, 5]
    assert page.compare._headline.full_text() == "1 flag changed: B writes 17.6 % faster."
    page.compare.grab()
    page.compare.closed.emit()
    assert not page._right.isVisible()


def test_three_sessions_and_more_stand_in_one_table(qtbot, page: SessionsPage) -> None:
    for session_id in (5, 4, 3):
        page.model.choose(session_id)
    assert page.model.chosen == [3, 4, 5]
    qtbot.waitUntil(page.many.isVisible)
    rows = {line.label: line for line in rows_of([side(i) for i in (3, 4, 5)])}
    assert rows["Model"].texts == ("gpt-oss-20b", "Qwen3-30B-A3B-Instruct-2507", "Qwen3-30B-A3B-Instruct-2507")
    assert rows["--cache-type-k"].texts == ("–", "q8_0", "–")
    assert "--ctx-size" not in rows
    assert len(rows["Generation, t/s"].best) >= 1
    assert 1 not in rows["Generation, t/s"].best
    assert [b.label for b in page.many.chart._boxes] == ["A", "B", "C"]
    page.model.choose(4)
    assert page.model.chosen == [3, 5]
    qtbot.waitUntil(page.compare.isVisible)


def test_a_seventh_choice_takes_the_place_of_the_first(page: SessionsPage) -> None:
    page.model._chosen = [1, 2, 3, 4, 5, 6]
    page.model.choose(7)
    assert page.model._chosen == [2, 3, 4, 5, 6, 7]


def test_a_difference_is_tinted_only_beyond_chance() -> None:
    lines = {x.label: x for x in lines_of(side(4), side(5))}
    assert lines["Generation, t/s"].tone == "ok"
    assert lines["Generation, t/s"].difference == "+17.6 %"
    assert lines["Prompt, t/s"].difference == "too close to call"
    assert lines["--cache-type-k"].a == "q8_0"
    assert lines["--cache-type-k"].b == "–"
    assert lines["CUDA0 used"].difference == "same"


def test_few_requests_are_no_proof() -> None:
    assert interval([1.0, 2.0], [3.0, 4.0]) is None
    few = speed_line("Generation", [40.0], [80.0], 1)
    assert few.difference == "too few requests"
    assert few.tone is None


def test_the_same_figures_give_an_interval_around_zero() -> None:
    values = [40.0 + i % 7 for i in range(60)]
    found = interval(values, values)
    assert found is not None
    assert found[0] == 0.0
    assert found[1] <= 0.0 <= found[2]


def test_a_slower_first_token_is_worse() -> None:
    line = speed_line("First token, s", [1.0 + i / 100 for i in range(20)], [2.0 + i / 100 for i in range(20)], -1)
    assert line.tone == "bad"
    assert line.icon == "arrow-up"


def test_other_models_and_engines_are_named_first() -> None:
    assert headline(side(4), side(3)).startswith("Two models")
    same = side(5)
    assert headline(same, same) == "Same plan, same engine: no difference in speed beyond chance."


def test_a_line_through_the_points_needs_three() -> None:
    assert Cloud([1.0, 2.0], [3.0, 4.0]).line is None
    assert Cloud([0.0, 1.0, 2.0], [10.0, 9.0, 8.0]).line == (pytest.approx(10.0), pytest.approx(-1.0))


@pytest.mark.parametrize(("name", "text"), [("report.html", "html of [4, 5]"), ("report.csv", "csv of [4, 5]"),
                                           ("report.jsonl", "jsonl of [4, 5]"), ("report.json", "json of [4, 5]"),
                                           ("report.htm", "html of [4, 5]")])
def test_a_report_is_written_where_it_was_asked(qtbot, page: SessionsPage, tmp_path: Path, name: str, text: str,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.desktop.pages.sessions.writing.QFileDialog.getSaveFileName",
                        lambda *_a: (str(tmp_path / name), "*.html"))
    page.ask_report([4, 5])
    qtbot.waitUntil(lambda: "report written" in page.header.note.full_text())
    assert (tmp_path / name).read_text() == text


def test_a_report_that_cannot_be_written_says_why(qtbot, page: SessionsPage, desk: Desk, tmp_path: Path) -> None:
    with qtbot.waitSignal(desk.failed) as failed:
        page.write_report([5], tmp_path / "no such folder" / "report.html")
    assert "could not be written" in str(failed.args[0])


def test_what_one_side_does_not_tell_is_no_equality() -> None:
    def made(number: int, cached: int | None) -> Request:
        return Request(number, number, 0, 0.0, prompt_tokens=100, cached_tokens=cached)

    untold = _cache_line([made(1, 50)], [made(2, None)])
    assert (untold.difference, untold.icon) == ("–", "minus")
    assert _cache_line([made(1, 50)], [made(2, 50)]).icon == "equal"
    more = _cache_line([made(1, 20)], [made(2, 50)])
    assert (more.difference, more.icon) == ("+30 points", "arrow-up")


# -- marks ---------------------------------------------------------------


def test_marks_of_a_stored_session_are_edited_and_deleted(qtbot, page: SessionsPage,
                                                          workspace: fake.FakeWorkspace) -> None:
    mark = Event(60.0, "mark", "note: first", {"note": "first"})
    workspace.past[5] = replace(workspace.past[5], events=(Event(1.0, "state", "ready"), mark))
    marks = opened(qtbot, page, 5).detail.mark_list
    assert [line.text() for line in marks.lines] == ["first"]
    marks.lines[0].setText("second")
    marks.lines[0].editingFinished.emit()
    edited = Event(60.0, "mark", "note: second", {"note": "second"})
    qtbot.waitUntil(lambda: getattr(workspace.database, "mark_changes", None) == [(5, MarkChange(mark, edited))])
    workspace.past[5] = replace(workspace.past[5], events=(edited,))
    marks.changed.emit(edited, None)
    qtbot.waitUntil(lambda: workspace.database.mark_changes[-1] == (5, MarkChange(edited, None)))
    qtbot.waitUntil(lambda: [line.text() for line in marks.lines] == ["second"])


def test_a_session_without_marks_shows_no_list_of_them(qtbot, page: SessionsPage,
                                                       workspace: fake.FakeWorkspace) -> None:
    workspace.past[5] = replace(workspace.past[5], events=(Event(1.0, "state", "ready"),))
    assert opened(qtbot, page, 5).detail.mark_list.isHidden()
