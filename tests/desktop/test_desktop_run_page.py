"""The page Run on invented runs: figures, requests, log, banner, a prompt to try."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fakedesk as fake
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QFileDialog, QListView, QWidget

from paddock.desktop.pages.run import RunPage
from paddock.desktop.pages.run.banner import edits_words, message_of
from paddock.desktop.pages.run.figures import (
    Allowed,
    acceptance,
    against_usual,
    context,
    first_token,
    generation,
    memory,
    prompt,
)
from paddock.desktop.pages.run.log import KEPT, LogLines, LogView
from paddock.desktop.pages.run.marks import MarkDialog
from paddock.desktop.pages.run.requests import RequestsModel
from paddock.desktop.plots import Setup
from paddock.desktop.state import Desk
from paddock.desktop.theme import theme
from paddock.errors import AppError
from paddock.launch.model import Addition, Command
from paddock.server.model import Exit, LogLine, State
from paddock.session.model import Request, Sample, SlotSample
from paddock.text import Text
from paddock.work import Answer


@pytest.fixture
def run() -> fake.FakeRun:
    return fake.busy_run()


@pytest.fixture
def desk_of(qtbot, tmp_path: Path) -> Iterator[object]:
    made: list[Desk] = []

    def make(*runs: fake.FakeRun) -> Desk:
        desk = Desk(fake.FakeWorkspace(tmp_path, runs=runs))  # type: ignore[arg-type]
        desk.run = runs[0] if runs else None  # type: ignore[assignment]
        made.append(desk)
        return desk

    yield make
    for desk in made:
        desk.workspace.runs.clear()
        desk.close()


@pytest.fixture
def page(qtbot, desk_of, run: fake.FakeRun) -> RunPage:
    made = RunPage(desk_of(run))
    qtbot.addWidget(made)
    made.resize(1216, 744)
    made.show()
    return made


def request(number: int = 1, **more: object) -> Request:
    return Request(number, number, 0, float(number), **more)  # type: ignore[arg-type]


# -- figures ------------------------------------------------------------


def test_figures_come_with_their_comparison(page: RunPage) -> None:
    names = [f.accessibleName() for f in page.body.figures.figures]
    assert names[3].startswith("Context used: 31,688 tokens. 97 % of 32,768")
    assert names[4] == "Draft acceptance: – . no draft model"
    assert names[5] == "Memory, CUDA0: 16.1 GiB. predicted 16.0, +0.6 %"


def test_an_idle_server_shows_no_speed_but_the_last_request() -> None:
    sample = fake.busy_run().recorder.sample
    idle = type(sample)(**{**vars(sample), "generation_per_s": 0.0, "prompt_per_s": 0.0})
    shown = generation(idle, request(generation_per_s=45.9), None)
    assert (shown.value, shown.note) == ("–", "last request 45.9")


def test_the_speed_of_one_answer_stands_beside_what_memory_allows_at_its_depth() -> None:
    sample = fake.busy_run().recorder.sample
    one = type(sample)(**{**vars(sample), "generation_per_s": 40.0, "context_used": 5_000.0,
                          "slots": [s for s in sample.slots if s.busy][:1]})
    allowed = Allowed(empty=100.0, full=50.0, depth=10_000)  # 10 ms a token, 20 ms when full: 15 ms here
    assert generation(one, None, None, allowed).note == "60 % of what memory allows"
    assert generation(one, None, 41.0, allowed).note == "60 % of what memory allows"
    assert generation(one, None, 80.0, allowed).note == "50 % under the usual 80.0"
    two = type(sample)(**{**vars(one), "slots": one.slots * 2})
    assert "memory" not in generation(two, None, None, allowed).note


def test_a_prompt_out_of_the_cache_tells_no_speed() -> None:
    shown = prompt(None, request(prompt_per_s=9000.0, evaluated_tokens=3))
    assert shown.note == "last one: cached or too short"


def test_no_drafts_is_no_figure_and_drafts_come_with_their_counts() -> None:
    assert acceptance(None, [request(draft_tokens=0, accepted_tokens=0)], True).value == "–"
    shown = acceptance(None, [request(draft_tokens=400, accepted_tokens=312)], True)
    assert (shown.value, shown.note) == ("78", "312 of 400 drafted")


def test_the_usual_speed_is_a_judgement_only_beyond_a_tenth() -> None:
    assert against_usual(46.0, 168.0) == ("73 % under the usual 168", "bad")
    assert against_usual(165.0, 168.0) == ("as usual, 168", None)
    assert against_usual(math.nan, 168.0) == ("", None)


def test_what_is_not_known_says_why() -> None:
    assert first_token([]).note == "no answer yet"
    assert context(None, 8192.0).note == "of 8,192"
    assert memory(None, Setup(("CUDA0",), 1, None, {"CUDA0": float(4 << 30)})).note == "predicted 4.00"


# -- requests ------------------------------------------------------------


def test_live_rows_change_in_place_and_new_ones_come_on_top(qtbot) -> None:
    model = RequestsModel()
    model.show_requests([request(1), request(2)])
    assert [r.number for r in model.requests()] == [2, 1]
    with qtbot.assertNotEmitted(model.modelReset), qtbot.waitSignal(model.dataChanged) as changed:
        model.show_requests([request(1, generated_tokens=5), request(2)])
    assert changed.args[0].row() == 1
    with qtbot.waitSignal(model.rowsInserted):
        model.show_requests([request(1), request(2), request(3)])
    assert model.index(0, 0).data() == "3"


def test_the_recorder_may_change_a_row_under_our_feet(qtbot) -> None:
    model, row = RequestsModel(), request(1)
    model.show_requests([row])
    row.generated_tokens = 7
    with qtbot.waitSignal(model.dataChanged):
        model.show_requests([row])
    assert model.index(0, 4).data() == "7"


def test_order_changes_on_a_click_only_and_unknown_comes_last(page: RunPage) -> None:
    model = page.body.requests.model
    page.body.requests.view._clicked(6)
    speeds = [r.generation_per_s for r in model.requests()]
    known = [s for s in speeds if s is not None]
    assert known == sorted(known, reverse=True)
    assert speeds[:len(known)] == known


def test_words_of_a_request(page: RunPage) -> None:
    model = RequestsModel()
    model.show_requests([request(1, progress=0.62), request(2, generated_tokens=3), request(3, status="cancelled")])
    assert [model.index(i, 7).data() for i in range(3)] == ["left", "writing", "62 %"]


def test_the_waterfall_shows_what_the_plots_show(page: RunPage) -> None:
    pane = page.body.requests
    pane.ways.option("waterfall").click()
    page._pull(labels=True)
    start, end = page.body.plots.stack.window_s
    rows = pane.waterfall.rows()
    assert rows
    assert all(r.t_start <= end and (r.t_end or end) >= start for r in rows)
    assert "in sight" in pane.waterfall.accessibleDescription()
    pane.waterfall.grab()


# -- log ------------------------------------------------------------


def lines(count: int, first: int = 1, level: str = "I", text: str = "line") -> list[LogLine]:
    return [LogLine(0.0, f"{text} {i}", level, i) for i in range(first, first + count)]


def test_a_million_lines_stay_bounded_and_are_counted() -> None:
    log = LogLines()
    for start in range(1, 1_000_001, 20_000):
        log.add(lines(20_000, start))
    assert log.last == 1_000_000
    assert len(log) <= KEPT
    assert log.line(len(log) - 1).number == 1_000_000
    log.filter(0, "line 99999")
    assert log.line(0).number == 999_990


def test_filter_by_level_and_text_goes_on_with_new_lines() -> None:
    log = LogLines()
    log.add([*lines(3), *lines(1, 4, "W", "careful"), LogLine(0.0, "no level", None, 5)])
    log.filter(2, "")
    assert [log.line(i).number for i in range(len(log))] == [4]
    log.add(lines(1, 6, "E", "boom"))
    assert [log.line(i).number for i in range(len(log))] == [4, 6]
    log.filter(0, "BOOM")
    assert len(log) == 1
    assert log.row_of(6) == 0
    assert log.row_of(4) is None
    assert log.warnings == 2


def test_it_scrolls_along_only_at_the_bottom(qtbot) -> None:
    view = LogView()
    qtbot.addWidget(view)
    view.resize(400, 200)
    view.show()
    view.add(lines(500))
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum()
    view.add(lines(10, 501))
    assert bar.value() == bar.maximum()
    bar.setValue(100)
    view.add(lines(10, 511))
    assert bar.value() == 100
    view.scroll_to_bottom()
    assert view.at_bottom


def test_lines_stay_in_place_while_the_oldest_leave(qtbot) -> None:
    view = LogView()
    qtbot.addWidget(view)
    view.resize(400, 200)
    view.show()
    view.add(lines(KEPT))
    view.verticalScrollBar().setValue(KEPT - 50_000)
    before = view._first_number()
    view.add(lines(30_000, KEPT + 1))
    assert view._first_number() == before


def test_lines_are_selected_and_copied_by_keys(qtbot) -> None:
    view = LogView()
    qtbot.addWidget(view)
    view.resize(400, 200)
    view.show()
    view.add(lines(50))
    qtbot.keyClick(view, Qt.Key.Key_Home)
    qtbot.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert view.selected_text() == "line 1\nline 2"
    assert view.accessibleDescription() == "line 2"


def test_the_page_feeds_the_log_once(page: RunPage) -> None:
    log = page.body.log
    assert log.last == 1284
    page._pull(labels=True)
    assert log.last == 1284
    assert "1,284 lines" in log._count.full_text()


# -- banner ------------------------------------------------------------


def test_degraded_offers_its_edits_but_never_launches(qtbot, desk_of, run: fake.FakeRun) -> None:
    run.diagnoses = [fake.DEGRADED]
    page = RunPage(desk_of(run))
    qtbot.addWidget(page)
    page.show()
    assert page.banner.isVisible()
    with qtbot.waitSignal(page.desk.pageWanted) as wanted:
        page._take_edits()
    assert wanted.args[0] == "launch"
    assert page.desk.plan.get("gpu-layers") == "auto"
    assert not page.desk.launching


def test_the_proof_of_a_diagnosis_is_one_click_away(qtbot, desk_of, run: fake.FakeRun) -> None:
    run.diagnoses = [fake.DEGRADED]
    page = RunPage(desk_of(run))
    qtbot.addWidget(page)
    page.resize(1216, 744)
    page.show()
    page.body.log.level.setCurrentIndex(3)
    page._show_line()
    marked = page.body.log.view._mark
    assert marked is not None
    row = page.body.log.view.lines.row_of(marked)
    assert row is not None
    assert "offloaded 37/49" in page.body.log.view.lines.line(row).text


def test_a_failure_says_what_why_and_what_to_do(run: fake.FakeRun) -> None:
    run.state = State.FAILED
    run.exit = Exit(1, Text("exit code 1"), diagnosis=fake.OUT_OF_MEMORY)
    message = message_of(run)
    assert message is not None
    assert message.tone == "bad"
    assert message.what.startswith("The server did not start. CUDA0 is out of memory")
    assert "65,536" in message.why
    run.exit = Exit(1, Text("It ended with exit code 1."))
    message = message_of(run)
    assert message is not None
    assert "exit code 1" in message.what


def test_braces_in_an_error_do_no_harm(run: fake.FakeRun) -> None:
    run.state, run.exit = State.CRASHED, Exit(1, Text("{what}", what="{json} is bad"))
    message = message_of(run)
    assert message is not None
    assert "{json} is bad" in message.what


def test_a_closed_message_stays_closed(qtbot, desk_of, run: fake.FakeRun) -> None:
    run.diagnoses = [fake.DEGRADED]
    page = RunPage(desk_of(run))
    qtbot.addWidget(page)
    page.show()
    page.banner._dismiss()
    page._say_state()
    assert not page.banner.isVisible()


def test_edits_read_as_a_command_line() -> None:
    assert edits_words([("ctx-size", ("65536",)), ("mlock", None)]) == "--ctx-size 65536, without --mlock"


# -- runs ------------------------------------------------------------


def test_without_a_run_it_says_what_to_do(qtbot, desk_of) -> None:
    page = RunPage(desk_of())
    qtbot.addWidget(page)
    page.show()
    assert page.pages.currentWidget() is page.empty
    with qtbot.waitSignal(page.desk.pageWanted) as wanted:
        page.empty.buttons[0].click()
    assert wanted.args[0] == "models"


def test_several_runs_can_be_chosen(qtbot, desk_of, run: fake.FakeRun) -> None:
    second = fake.busy_run(label="gpt-oss-20b", url="http://127.0.0.1:8081")
    page = RunPage(desk_of(run, second))
    qtbot.addWidget(page)
    page.show()
    assert page.chooser.count() == 2
    assert page.chooser.itemText(1).startswith("gpt-oss-20b :8081, ")
    assert page.chooser.itemText(1).endswith(", running")
    page.chooser.setCurrentIndex(1)
    page._chosen(1)
    assert page.run is second
    assert page.desk.run is second


def test_a_mark_is_put_on_the_time_axis(page: RunPage, run: fake.FakeRun) -> None:
    page.mark.click()
    dialog = page.window().findChild(MarkDialog)
    assert dialog is not None
    dialog.note.setText("opened the IDE")
    dialog.keep.click()
    assert run.recorder.events[-1].text == "note: opened the IDE"


@pytest.mark.parametrize("size", [(1216, 744), (805, 477), (1216, 500)])
def test_every_size_shows_all_parts(qtbot, page: RunPage, size: tuple[int, int]) -> None:
    page.resize(*size)
    page.grab()
    assert (page.width(), page.height()) == size
    compact = size != (1216, 744)
    assert page.body.compact is compact
    for key in ("plots", "requests", "ask", "log"):
        if compact:
            page.body.choice.option(key).click()
        assert page.body.panes[key].isVisible()


def test_the_state_of_loading_is_said(qtbot, desk_of, run: fake.FakeRun) -> None:
    run.state = State.LOADING
    page = RunPage(desk_of(run))
    qtbot.addWidget(page)
    page.show()
    assert page.header.note.full_text() == "loading, ≈ 42 %, 3 s"
    assert not page.body.ask.input.isEnabled()


# -- try a prompt ------------------------------------------------------------


def test_an_answer_streams_and_its_timings_stand_below(qtbot, page: RunPage, run: fake.FakeRun) -> None:
    ask = page.body.ask
    ask.input.setText("Why are experts slower?")
    with qtbot.waitSignal(ask.answered):
        ask.ask()
    assert run.asked == ["Why are experts slower?"]
    assert ask.text.toPlainText() == "Why are experts slower?\n" + "".join(run.pieces)
    assert ask.note.full_text() == "71 tokens, 45.9 t/s, first after 0.38 s, prompt 12 at 588 t/s"
    assert not ask.busy
    assert ask.stop.isHidden()


def test_a_completion_and_a_picture_go_along(qtbot, page: RunPage, run: fake.FakeRun, tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    ask, options = page.body.ask, page.body.ask.options
    assert not options.choose.isEnabled()
    assert "without a projector" in options._image_words.full_text()
    run.takes_images = True
    ask.show_run(run, True)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(tmp_path / "cat.png"), ""))
    options.choose.click()
    assert options.values()["image"] == tmp_path / "cat.png"
    assert ask._summary.full_text().endswith("cat.png")
    options.forget.click()
    assert options.values()["image"] is None
    options.system.setText("be short")
    options.way.select("raw")
    options.way.chosen.emit("raw")
    assert (options.values()["raw"], options.values()["system"]) == (True, "")
    assert not options.choose.isEnabled()
    assert ask._summary.full_text().endswith("completion")


def test_enter_sends_and_shift_enter_begins_a_line(qtbot, page: RunPage, run: fake.FakeRun) -> None:
    box = page.body.ask.input
    one = box.height()
    box.setText("a")
    box.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClick(box, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(box, "b")
    assert box.text() == "a\nb"
    assert box.height() > one
    with qtbot.waitSignal(page.body.ask.answered):
        qtbot.keyClick(box, Qt.Key.Key_Return)
    assert run.asked == ["a\nb"]
    assert box.text() == ""


def test_a_server_of_vectors_answers_in_words(qtbot, page: RunPage, run: fake.FakeRun) -> None:
    run.answers_texts, run.pieces = True, ()
    run.answer = Answer("768 numbers, length 1.000: 0.1, …", "stop", prompt_tokens=5, total_s=0.2)
    ask = page.body.ask
    ask.show_run(run, True)
    ask.input.setText("hello")
    with qtbot.waitSignal(ask.answered):
        ask.ask()
    assert "768 numbers" in ask.text.toPlainText()
    assert ask.note.full_text() == "5 tokens read, after 0.20 s"


def test_an_answer_can_be_stopped(qtbot, page: RunPage, run: fake.FakeRun) -> None:
    started, release = threading.Event(), threading.Event()

    def slow(_prompt: str, *, on_text, cancelled, **_more: object) -> None:
        on_text("first words")
        started.set()
        release.wait(10)
        assert cancelled()
        raise AppError(Text("stopped"))

    run.ask = slow  # type: ignore[method-assign]
    ask = page.body.ask
    ask.input.setText("Tell me a lot")
    ask.send.setFocus()
    ask.ask()
    qtbot.waitUntil(lambda: "first words" in ask.text.toPlainText())
    assert started.is_set()
    assert ask.stop.hasFocus()  # where the pressed button was: one key stops the answer
    ask.stop.click()
    release.set()
    assert ask.note.full_text() == "Stopped."
    assert not ask.busy
    assert ask.send.hasFocus()


def test_a_refusal_is_told_in_words(qtbot, page: RunPage, run: fake.FakeRun) -> None:
    def refuse(*_args: object, **_more: object) -> None:
        raise AppError(Text("The server refused the request."), hint=Text("Shorten the prompt."))

    run.ask = refuse  # type: ignore[method-assign]
    ask = page.body.ask
    ask.input.setText("x" * 100)
    ask.ask()
    qtbot.waitUntil(lambda: not ask.busy)
    assert ask.note.full_text() == "The server refused the request. Shorten the prompt."
    assert ask.send.isVisible()


def test_questions_follow_the_theme(qtbot, page: RunPage) -> None:
    ask = page.body.ask
    ask.input.setText("Why?")
    with qtbot.waitSignal(ask.answered):
        ask.ask()
    theme().use("dark")
    cursor = ask.text.textCursor()
    cursor.setPosition(2)
    assert cursor.charFormat().foreground().color() == theme().color("text2")
    cursor.setPosition(8)
    form = cursor.charFormat()
    assert not form.hasProperty(form.Property.ForegroundBrush.value)
    theme().use("light")


def test_the_usual_speed_comes_from_the_past(qtbot, desk_of, run: fake.FakeRun) -> None:
    desk = desk_of(run)
    desk.workspace.past = {d.row.id: type(d)(**{**vars(d), "row": replace(d.row, model_identity="aa", profile="Chat")})
                           for d in fake.sessions()}
    run.session_id = 5
    page = RunPage(desk)
    qtbot.addWidget(page)
    page.show()
    qtbot.waitUntil(lambda: page.body.plots.stack.setup.usual_per_s == 43.0)
    assert "under the usual 43.0" in page.body.figures.figures[0].accessibleName()


def test_every_control_has_a_name(page: RunPage) -> None:
    """What can be reached by Tab; the inside of a box is Qt's."""
    nameless = []
    for widget in page.findChildren(QWidget):
        words = widget.text() if isinstance(widget, QAbstractButton) else ""
        inside_box = ((isinstance(widget, QListView) and widget.window() is not page.window())
                      or isinstance(widget.parent(), QAbstractSpinBox))
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and not (widget.accessibleName() or words or inside_box):
            nameless.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")
    assert nameless == []


def test_a_server_on_another_port_than_the_usual_one_says_so(run: fake.FakeRun) -> None:
    run.diagnoses = []
    assert message_of(run) is None
    run.url = "http://127.0.0.1:41367"
    assert message_of(run) is None, "a port that the person set is no news"
    added = Addition("port", ("--port", "41367"))
    run.preview = replace(run.preview, command=Command(("llama", "serve"), (), (added,)))
    said = message_of(run)
    assert said is not None
    assert "41367" in said.what


def test_the_choice_of_runs_tells_their_state_as_it_is(qtbot, desk_of, run: fake.FakeRun) -> None:
    other = fake.FakeRun("other", state=State.LOADING)
    desk = desk_of(run, other)
    page = RunPage(desk)
    qtbot.addWidget(page)
    before = page.chooser.itemText(1)
    other.state = State.READY
    desk.runStateChanged.emit(other, State.READY, None)
    assert page.chooser.itemText(1) != before


def test_while_the_first_request_runs_it_is_not_said_that_there_was_none() -> None:
    slot = SlotSample(0, True, "prompt", 1, 0, 100, 0, 0, math.nan, math.nan, math.nan)
    sample = Sample(0.0, math.nan, math.nan, math.nan, 1, 0, math.nan, (slot,), None, True)
    assert prompt(sample, None).note == "the first one is under way"
    assert prompt(replace(sample, slots=()), None).note == "no request yet"


def test_a_flood_is_shown_as_far_as_it_can_be_taken_and_the_rest_is_counted(page: RunPage) -> None:
    lines = LogLines()
    lines.add([LogLine(0.0, "a", "I", 1), LogLine(0.0, "b", "I", 2)])
    lines.add([LogLine(0.0, "c", "W", 10), LogLine(0.0, "d", "I", 11)])
    assert (len(lines), lines.missed, lines.last) == (4, 7, 11)
    assert [lines.row_of(n) for n in (2, 5, 10, 11)] == [1, None, 2, 3]
    lines.filter(2, "")
    assert [lines.line(i).number for i in range(len(lines))] == [10]
    page.body.log.view.lines.missed = 7
    page.body.log.say_count(1300)
    assert "7 only in the file" in page.body.log._count.full_text()
