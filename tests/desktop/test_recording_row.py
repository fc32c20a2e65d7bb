"""The recording proxy's line on the page Run."""

from __future__ import annotations

import fakedesk as fake
import pytest
from PySide6.QtGui import QGuiApplication

from paddock.desktop.pages.run.recording import RecordingDialog, RecordingRow
from paddock.errors import AppError
from paddock.server.model import State
from paddock.text import Text


@pytest.fixture
def line(qtbot) -> RecordingRow:
    made = RecordingRow()
    qtbot.addWidget(made)
    return made


def test_it_is_offered_for_a_server_of_ours_that_is_ready(line: RecordingRow) -> None:
    run = fake.busy_run()
    line.show_run(run)
    assert not line.isHidden()
    assert not line.go.isHidden()
    assert line.end.isHidden()
    run.state = State.LOADING
    line.show_run(run)
    assert line.isHidden()
    run.state, run.read_only = State.READY, True
    line.show_run(run)
    assert line.isHidden()
    line.show_run(None)
    assert line.isHidden()


def test_once_on_the_clients_address_and_the_consent_are_in_sight(qtbot, line: RecordingRow) -> None:
    run = fake.busy_run()
    line.show_run(run)
    line.begin(8081, True)
    qtbot.waitUntil(lambda: "http://127.0.0.1:8081" in line._words.full_text())
    assert not line._texts.isHidden()
    line.copy.click()
    assert QGuiApplication.clipboard().text() == "http://127.0.0.1:8081"
    line.end.click()
    qtbot.waitUntil(lambda: not line.go.isHidden())
    assert run.proxy is None
    assert line._texts.isHidden()


def test_a_port_that_cannot_be_had_is_said_and_nothing_is_on(qtbot, line: RecordingRow) -> None:
    run = fake.busy_run()
    run.proxy_fails = AppError(Text("The recording proxy could not listen on port {port}.", port=80), why="denied")
    line.show_run(run)
    line.begin(80, False)
    qtbot.waitUntil(lambda: "could not listen on port 80. denied" in line._words.full_text())
    assert not line.go.isHidden()
    assert line.go.isEnabled()


def test_no_text_is_kept_unless_the_box_is_ticked(qtbot) -> None:
    dialog = RecordingDialog()
    qtbot.addWidget(dialog)
    assert not dialog.texts.isChecked()
    assert dialog.port.value() == 0
