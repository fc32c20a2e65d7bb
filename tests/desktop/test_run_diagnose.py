"""The quick diagnosis and the marks of Run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import fakedesk as fake
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QToolButton

from paddock.bench import Before, Measured, conclusions_of, figures_of, headline_of
from paddock.desktop.pages.run.detect_dialog import DiagnoseDialog, as_text, lines_of
from paddock.desktop.pages.run.marks import MarkDialog, marks_words
from paddock.errors import AppError
from paddock.session.detectors import Finding
from paddock.session.model import Event
from paddock.text import Text
from paddock.work.diagnosing import Diagnosed

HOT = Finding("clocks_heat", Text("CUDA0 has lowered its clock."), Text("1,500 MHz."), Text("Give it air."))


def diagnosed(busy: bool = True) -> Diagnosed:
    before = Before(80.0 if busy else 1.0, {}, 0.5, 8, 20e9, {}, 9e8)
    rows = tuple(Measured(i, "ok", "", 512, 0, 32, 900.0, 48.0, 4.0 if i == 1 else 0.6, 1.3, 9.5e8)
                 for i in range(1, 11))
    figures = figures_of(before, rows)
    found = conclusions_of(before, rows, figures)
    return Diagnosed({"name": "llama.cpp 11434", "version": "0.6.0"}, {"system": "Linux", "cpu": "Ryzen", "gpus": [
        {"name": "RTX 4090", "driver": "575.51", "cuda": "12.9"}]}, before, rows, figures, tuple(found),
        (HOT.as_dict(),), 7, 512, headline_of(found, 1))


def words(dialog: DiagnoseDialog) -> str:
    """What it says; labels hold a figure and its unit together with a space that does not break."""
    return "\n".join(label.text() for label in dialog.findChildren(QLabel)).replace("\xa0", " ")


@pytest.fixture
def open_dialog(qtbot) -> Callable[..., DiagnoseDialog]:
    def make(diagnose: Callable[..., Any]) -> DiagnoseDialog:
        dialog = DiagnoseDialog(diagnose, "a model")
        qtbot.addWidget(dialog)
        dialog.ask()
        return dialog

    return make


def test_the_answer_is_shown_in_words_what_stands_out_first(qtbot, open_dialog) -> None:
    dialog = open_dialog(lambda progress, cancelled: diagnosed())
    qtbot.waitUntil(lambda: dialog.answer is not None)
    assert "2 things stand out." in words(dialog)
    assert "the processor was 80 % busy" in words(dialog)
    assert "Generation 48.0 t/s, prompt 900 t/s" in words(dialog)
    order = [severity for severity, _, _ in lines_of(dialog.answer)]
    assert order == sorted(order, key=("error", "warning", "hint", "ok").index)
    assert dialog.bar.isHidden()


def test_it_says_how_far_it_is(qtbot, open_dialog) -> None:
    go, at_three = threading.Event(), threading.Event()

    def slow(progress: Callable[[int, int, str], object], cancelled: Callable[[], bool]) -> Diagnosed:
        progress(2, 10, "Requests")
        at_three.set()
        go.wait(20)
        return diagnosed()

    dialog = open_dialog(slow)
    assert at_three.wait(20)
    qtbot.waitUntil(lambda: "Request 3 of 10" in words(dialog))
    assert dialog.bar.value() == 2
    go.set()
    qtbot.waitUntil(lambda: dialog.answer is not None)


def test_closing_it_ends_the_requests(qtbot, open_dialog) -> None:
    ended = threading.Event()

    def endless(progress: object, cancelled: Callable[[], bool]) -> Diagnosed:
        while not cancelled():
            threading.Event().wait(0.01)
        ended.set()
        raise AppError(Text("The diagnosis was cancelled."))

    dialog = open_dialog(endless)
    dialog.close_button.click()
    assert ended.wait(20)


def test_a_failure_is_said_in_words(qtbot, open_dialog) -> None:
    def broken(progress: object, cancelled: object) -> Diagnosed:
        raise AppError(Text("The server is not ready."), hint=Text("Wait until it has loaded the model."))

    dialog = open_dialog(broken)
    qtbot.waitUntil(lambda: "The server is not ready." in words(dialog))
    assert "Wait until it has loaded" in words(dialog)
    assert dialog.copy.isHidden()


def test_all_of_it_can_be_copied_for_somebody_who_helps(qtbot, open_dialog) -> None:
    dialog = open_dialog(lambda progress, cancelled: diagnosed())
    qtbot.waitUntil(lambda: dialog.answer is not None)
    dialog.copy.click()
    text = QGuiApplication.clipboard().text()
    assert text == as_text(dialog.answer)
    for part in ("2 things stand out.", "llama.cpp 11434 0.6.0", "RTX 4090 575.51 12.9", "10: 900 t/s, 48.0 t/s",
                 "[warning] CUDA0 has lowered its clock."):
        assert part in text


# -- marks


def test_a_mark_stands_where_it_was_asked_for_with_its_note(qtbot) -> None:
    run = fake.busy_run()
    dialog = MarkDialog(run)
    qtbot.addWidget(dialog)
    asked = run.recorder.now
    run.recorder.now += 30.0
    dialog.note.setText("  opened the browser ")
    dialog.keep.click()
    mark = run.recorder.events[-1]
    assert (mark.t, mark.kind, mark.text) == (asked, "mark", "note: opened the browser")


def test_a_mark_needs_no_note(qtbot) -> None:
    run = fake.busy_run()
    dialog = MarkDialog(run)
    qtbot.addWidget(dialog)
    dialog.keep.click()
    assert run.recorder.events[-1].text == "mark"


def test_marks_of_a_run_are_edited_and_deleted(qtbot) -> None:
    run = fake.busy_run()
    run.recorder.events = [Event(1.0, "state", "ready"), Event(60.0, "mark", "note: first", {"note": "first"}),
                           Event(90.0, "mark", "written by an older Paddock")]
    dialog = MarkDialog(run)
    qtbot.addWidget(dialog)
    dialog.show()
    newest, oldest = dialog.before.lines
    assert [line.text() for line in (newest, oldest)] == ["written by an older Paddock", "first"]
    oldest.setFocus()
    oldest.setText("  second client ")
    qtbot.keyClick(oldest, Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert len(run.recorder.events) == 3, "Enter makes no further mark"
    assert run.recorder.events[1] == Event(60.0, "mark", "note: second client", {"note": "second client"})
    assert [line.text() for line in dialog.before.lines] == ["written by an older Paddock", "second client"]
    delete = next(b for b in dialog.before.findChildren(QToolButton) if "1:30" in b.accessibleName())
    delete.click()
    assert [e.t for e in run.recorder.events] == [1.0, 60.0]
    dialog.before.findChildren(QToolButton)[-1].click()
    assert dialog.before.isHidden()


def test_the_marks_so_far_are_shown_the_newest_first() -> None:
    events = tuple(Event(60.0 * i, "mark" if i % 2 else "state", f"number {i}") for i in range(20))
    lines = marks_words(events).splitlines()
    assert lines[0] == "19:00  number 19"
    assert lines[-1] == "and 4 earlier"
    assert marks_words(()) == ""
