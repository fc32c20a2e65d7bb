"""The window on the real workspace: a real file, the real checks, and a real server where there is an engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tinymodel
from PySide6.QtCore import Qt
from real_engine import engine, port  # noqa: F401

from paddock.desktop.state import Desk
from paddock.desktop.window import MainWindow
from paddock.engine import Engine
from paddock.server.model import State
from paddock.work import Workspace

SLOW = 30_000


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tinymodel.write(tmp_path / "tiny.gguf", context=4096)


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path / "real")
    yield made
    made.close()


@pytest.fixture
def opened(qtbot, real: Workspace, model: Path) -> Iterator[MainWindow]:
    """A window that was given a file, and knows all about it."""
    desk = Desk(real)
    window = MainWindow(desk)
    qtbot.addWidget(window, before_close_func=lambda w: setattr(w, "_closing", True))
    window.show()
    with qtbot.waitSignal(desk.whatIfChanged, timeout=SLOW):
        desk.start(model)
    qtbot.waitUntil(lambda: desk.preview is not None and desk.preview.model is not None, timeout=SLOW)
    yield window
    desk.close()


def test_a_file_argument_opens_on_launch_with_its_cost(qtbot, opened: MainWindow, model: Path) -> None:
    desk = opened.desk
    assert opened.current == "launch"
    assert desk.model_path() == str(model)
    qtbot.waitUntil(lambda: opened.dock.verdict.chip.text() == "Fits", timeout=SLOW)
    form = opened.page("launch").form
    assert "2 layers" in form.rows["model"].cost.plain()
    assert form.rows["context"].cost.plain()


def test_every_edit_of_the_form_is_judged_anew(qtbot, opened: MainWindow) -> None:
    desk = opened.desk
    before = desk.preview.estimate
    with qtbot.waitSignal(desk.previewChanged, timeout=SLOW):
        opened.page("launch").form.fields["context"].figure.setValue(1024)
    assert sum(d.context for d in desk.preview.estimate.devices) < sum(d.context for d in before.devices)


def test_a_profile_written_by_the_window_is_read_by_the_next(qtbot, opened: MainWindow, real: Workspace) -> None:
    desk = opened.desk
    with qtbot.waitSignal(desk.profileChanged, timeout=SLOW):
        desk.profiles.save("Tiny, short")
    assert Workspace(real.paths.root).profiles.load("Tiny, short").plan == desk.plan


def test_a_server_is_launched_watched_and_stopped(qtbot, opened: MainWindow, engine: Engine, port: int) -> None:  # noqa: F811
    desk = opened.desk
    with qtbot.waitSignal(desk.previewChanged, timeout=SLOW):
        desk.edit(desk.plan.with_("port", port).with_("ctx-size", 512))
    qtbot.waitUntil(lambda: opened.dock.control.button.isEnabled(), timeout=SLOW)
    qtbot.mouseClick(opened.dock.control.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: desk.run is not None and desk.run.state is State.READY, timeout=SLOW)
    qtbot.waitUntil(lambda: opened.dock.small_control.state.text() == "Ready", timeout=SLOW)
    assert opened.current == "run"
    assert opened.dock.small_control.button.text() == "Stop"
    qtbot.mouseClick(opened.dock.small_control.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: opened.dock.small_control.state.text() == "Not running", timeout=SLOW)
    qtbot.waitUntil(lambda: bool(desk.record and desk.record.launches), timeout=SLOW)
    assert "Last launch" in opened.dock.control.note.full_text()
