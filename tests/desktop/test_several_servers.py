"""Several servers at once: launched beside each other, watched, and a router's models."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fakedesk as fake
import pytest
from desk_double import WorkspaceDouble, machine_at
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton

from paddock.desktop.attaching import Where, attach
from paddock.desktop.dock import Dock
from paddock.desktop.dock.verdict import verdict_of
from paddock.desktop.opening import open_path, opens
from paddock.desktop.pages.run import RunPage
from paddock.desktop.pages.run.attachdialog import AttachDialog
from paddock.desktop.pages.run.banner import message_of
from paddock.desktop.state import Desk
from paddock.desktop.window import MainWindow
from paddock.errors import AppError
from paddock.launch import Plan
from paddock.server.model import Exit, State
from paddock.server.router import RouterModel
from paddock.text import Text

MODELS = (RouterModel("tiny", "loaded", 4001, size_bytes=475_392, context=512), RouterModel("gemma", "unloaded"),
          RouterModel("broken", "unloaded", failed=True, exit_code=1), RouterModel("large", "downloading"))


@pytest.fixture
def planned(qtbot, desk: Desk) -> Desk:
    with qtbot.waitSignal(desk.previewChanged):
        desk.set("ctx-size", 4096)
    return desk


def launch(qtbot, desk: Desk) -> Any:
    with qtbot.waitSignal(desk.pageWanted):
        desk.launch()
    desk.run.become(State.READY)
    return desk.run


def test_a_second_server_is_launched_beside_the_first_and_each_is_stopped_by_itself(
    qtbot, planned: Desk, workspace: WorkspaceDouble
) -> None:
    first = launch(qtbot, planned)
    planned.set("ctx-size", 2048)
    second = launch(qtbot, planned)
    assert second is not first
    assert len(workspace.launched) == 2
    planned.stop()
    assert (first.stopped, second.stopped) == (False, True)
    planned.choose_run(first)
    planned.stop()
    assert first.stopped


def test_the_keyboard_launches_beside_what_runs(qtbot, window: MainWindow, desk: Desk, workspace) -> None:
    with qtbot.waitSignal(desk.previewChanged):
        desk.set("ctx-size", 4096)
    with qtbot.waitActive(window):
        window.activateWindow()
    for count in (1, 2):
        with qtbot.waitSignal(desk.pageWanted):
            qtbot.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier
                           | Qt.KeyboardModifier.ShiftModifier)
        desk.run.become(State.READY)
        assert len(workspace.launched) == count
    for run in workspace.runs:
        run.become(State.STOPPED)


def test_after_a_launch_the_keyboard_is_on_stop(qtbot, window: MainWindow, desk: Desk, workspace) -> None:
    """The dock folds as Run comes up, and the button goes from Launch to Stop under the keyboard."""
    with qtbot.waitSignal(desk.previewChanged):
        desk.set("ctx-size", 4096)
    window.show_page("launch")
    with qtbot.waitActive(window):
        window.activateWindow()
    window.dock.control.button.setFocus()
    qtbot.waitUntil(window.dock.control.button.hasFocus)
    with qtbot.waitSignal(desk.pageWanted):
        qtbot.keyClick(window.dock.control.button, Qt.Key.Key_Space)
    small = window.dock.small_control.button
    qtbot.waitUntil(small.hasFocus)
    assert small.text() == "Stop"
    desk.run.become(State.READY)
    qtbot.keyClick(small, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: desk.run.stopped)
    assert small.hasFocus(), "while it stops"
    desk.run.become(State.STOPPED)
    qtbot.waitUntil(lambda: small.text() == "Launch")
    assert small.hasFocus()


def test_the_dock_ends_the_watching_and_says_so(qtbot, planned: Desk) -> None:
    dock = Dock(planned)
    qtbot.addWidget(dock)
    planned.run = fake.FakeRun(read_only=True)
    dock.refresh()
    assert dock.control.button.text() == "Stop watching"
    planned.run = fake.FakeRun()
    dock.refresh()
    assert dock.control.button.text() == "Stop"
    planned.run = None


def test_a_further_plan_is_judged_by_what_the_running_server_left(qtbot, planned: Desk, workspace) -> None:
    launch(qtbot, planned)
    workspace.hardware = replace(machine_at(), ram_available_bytes=1 << 30)
    with qtbot.waitSignal(planned.previewChanged):
        planned.set("ctx-size", 2048)
    with qtbot.waitSignal(planned.previewChanged):
        planned.machines.refresh()
    assert planned.preview.machine.ram_available_bytes == 1 << 30


def test_the_plan_that_runs_is_judged_as_it_was_before_its_launch(qtbot, planned: Desk, workspace) -> None:
    run = launch(qtbot, planned)
    before = run.preview.machine.ram_available_bytes
    workspace.hardware = replace(machine_at(), ram_available_bytes=1 << 30)
    with qtbot.waitSignal(planned.previewChanged):
        planned.set("ctx-size", 2048)
    with qtbot.waitSignal(planned.previewChanged):
        planned.set("ctx-size", 4096)
    assert planned.plan == run.preview.plan
    assert planned.preview.machine.ram_available_bytes == before


def test_closing_the_window_asks_about_our_servers_alone(qtbot, window: MainWindow, workspace: WorkspaceDouble,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(MainWindow, "ask_to_close", lambda _self, count, _lasting: asked.append(count) or "cancel")
    workspace.runs = [fake.FakeRun(read_only=True), fake.FakeRun()]
    window.close()
    assert asked == [1]
    workspace.runs = [fake.FakeRun(read_only=True)]
    assert window.close()
    workspace.runs = []


# -- attaching


@pytest.fixture
def fake_desk(qtbot, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(fake.FakeWorkspace(tmp_path))  # type: ignore[arg-type]
    yield desk
    desk.workspace.runs.clear()
    desk.close()


class Watching:
    """Stands for `Workspace.watch`: fails, or gives a run, once it is let."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.asked, self.go = answer, [], threading.Event()
        self.go.set()

    def __call__(self, url: str, key: str | None, record: bool, **more: Any) -> Any:
        self.asked.append((url, key, record, more["insecure"]))
        assert self.go.wait(10)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_attaching_makes_the_watched_server_the_chosen_one(qtbot, fake_desk: Desk, monkeypatch) -> None:
    watched = fake.busy_run(read_only=True, label="theirs", session_id=None)
    watch = Watching(watched)
    monkeypatch.setattr(fake_desk.workspace, "watch", watch, raising=False)
    monkeypatch.setenv("THEIR_KEY", "hush")
    dialog = AttachDialog(fake_desk)
    qtbot.addWidget(dialog)
    dialog.show()
    assert not dialog.go.isEnabled()
    dialog.url.setText(" https://far:8443 ")
    dialog.key.setText("env:THEIR_KEY")
    dialog.insecure.setChecked(True)
    dialog.record.setChecked(False)
    with qtbot.waitSignal(dialog.accepted):
        qtbot.keyClick(dialog.url, Qt.Key.Key_Return)
    assert watch.asked == [(" https://far:8443 ", "hush", False, True)]
    assert fake_desk.run is watched


def test_what_went_wrong_is_said_in_the_dialog_which_stays(qtbot, fake_desk: Desk, monkeypatch) -> None:
    watch = Watching(AppError(Text("The server wants a key."), hint=Text("Give it.")))
    monkeypatch.setattr(fake_desk.workspace, "watch", watch, raising=False)
    dialog = AttachDialog(fake_desk)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.url.setText("8080")
    qtbot.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.error.isHidden())
    assert dialog.error.full_text() == "The server wants a key. Give it."
    assert dialog.isVisible()
    assert dialog.go.isEnabled()
    assert fake_desk.run is None


def test_a_key_that_cannot_be_found_is_not_sent_as_it_stands(qtbot, fake_desk: Desk, monkeypatch) -> None:
    watch = Watching(None)
    monkeypatch.setattr(fake_desk.workspace, "watch", watch, raising=False)
    failed: list[AppError] = []
    attach(fake_desk, Where("8080", "env:NOT_THERE"), failed.append, lambda: None)
    qtbot.waitUntil(lambda: bool(failed))
    assert "env:NOT_THERE" in str(failed[0].what)
    assert watch.asked == []


def test_a_dialog_that_is_closed_while_it_asks_leaves_no_watching(qtbot, fake_desk: Desk, monkeypatch) -> None:
    closed = threading.Event()
    watched = fake.FakeRun(read_only=True)
    monkeypatch.setattr(watched, "close", closed.set, raising=False)
    watch = Watching(watched)
    watch.go.clear()
    monkeypatch.setattr(fake_desk.workspace, "watch", watch, raising=False)
    dialog = AttachDialog(fake_desk)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.url.setText("8080")
    qtbot.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    watch.go.set()
    assert closed.wait(10)
    assert fake_desk.run is None


# -- a session that another Paddock recorded


def test_a_session_file_opens_under_sessions(qtbot, fake_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(fake_desk.workspace, "import_sessions", lambda p: asked.append(p) or [3, 7], raising=False)
    with qtbot.waitSignal(fake_desk.pageWanted) as wanted:
        open_path(fake_desk, Path("/far/run.paddock"))
    assert asked == [Path("/far/run.paddock")]
    assert wanted.args == ["sessions", 7]


def test_a_session_file_that_is_none_is_said_to_be(qtbot, fake_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> list[int]:
        raise AppError(Text("It holds no session."))

    monkeypatch.setattr(fake_desk.workspace, "import_sessions", refuse, raising=False)
    with qtbot.waitSignal(fake_desk.failed):
        open_path(fake_desk, Path("/far/run.paddock"))


@pytest.mark.parametrize(("name", "taken"), [("a.gguf", True), ("A.PADDOCK", True), ("letter.txt", False), ("", True)])
def test_what_can_be_dropped_on_the_window(tmp_path: Path, name: str, taken: bool) -> None:
    assert opens(tmp_path / name) is taken


# -- a watched server, and a router, on Run


@pytest.fixture
def page_of(qtbot, tmp_path: Path) -> Iterator[Any]:
    made: list[Desk] = []

    def make(*runs: Any) -> RunPage:
        desk = Desk(fake.FakeWorkspace(tmp_path, runs=runs))  # type: ignore[arg-type]
        desk.run = runs[0] if runs else None
        made.append(desk)
        page = RunPage(desk)
        qtbot.addWidget(page)
        page.resize(1216, 700)
        page.show()
        return page

    yield make
    for desk in made:
        desk.workspace.runs.clear()
        desk.close()


def test_a_watched_server_is_asked_nothing_and_says_why_there_is_no_log(page_of) -> None:
    page = page_of(fake.busy_run(read_only=True, session_id=None))
    assert not page.body.ask.input.isEnabled()
    assert "watched" in page.body.ask.input.placeholderText().lower()
    assert "keeps its log to itself" in page.body.log._count.full_text()
    assert "where it was started" in page.body.log.view.nothing
    assert page.header.note.full_text().startswith("watched for")


def test_the_end_of_a_watching_is_no_end_of_the_server() -> None:
    run = fake.FakeRun(read_only=True, state=State.STOPPED, exit=Exit(None, Text("The watching ended.")))
    message = message_of(run)
    assert message is not None
    assert "goes on" in message.what


def test_runs_are_switched_with_the_chooser(qtbot, page_of) -> None:
    one, two = fake.busy_run(label="one"), fake.busy_run(label="two", read_only=True)
    page = page_of(one, two)
    assert page.chooser.isVisible()
    page.chooser.setCurrentIndex(1)
    page.chooser.activated.emit(1)
    assert page.run is two
    assert page.desk.run is two


def buttons(page: RunPage) -> dict[str, QAbstractButton]:
    return {b.accessibleName(): b for b in page.body.models.findChildren(QAbstractButton)}


def test_a_router_lists_its_models_and_loads_and_unloads_them(qtbot, page_of, monkeypatch) -> None:
    run = fake.busy_run(is_router=True, models=MODELS)
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(run, "load_model", lambda m: asked.append(("load", m)), raising=False)
    monkeypatch.setattr(run, "unload_model", lambda m: asked.append(("unload", m)), raising=False)
    page = page_of(run)
    found = buttons(page)
    assert set(found) == {"Unload tiny", "Load gemma", "Load broken", "Load large"}
    assert not found["Load large"].isEnabled(), "it is being downloaded"
    for name in ("Load gemma", "Unload tiny"):
        qtbot.mouseClick(found[name], Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: bool(asked))
    qtbot.waitUntil(lambda: len(asked) == 2)
    assert sorted(asked) == [("load", "gemma"), ("unload", "tiny")]
    words = [label.text() for label in page.body.models.findChildren(type(page.body.models._count))]
    assert "failed (exit code 1)" in words
    assert "1 of 4 loaded" in words


def test_a_refused_load_is_said_above_the_page(qtbot, page_of, monkeypatch) -> None:
    run = fake.busy_run(is_router=True, models=MODELS)

    def refuse(_model: str) -> None:
        raise AppError(Text("The router did not take it."))

    monkeypatch.setattr(run, "load_model", refuse, raising=False)
    page = page_of(run)
    with qtbot.waitSignal(page.desk.failed) as failed:
        qtbot.mouseClick(buttons(page)["Load gemma"], Qt.MouseButton.LeftButton)
    assert "did not take" in str(failed.args[0].what)


def test_the_models_of_a_router_that_ended_or_is_watched_cannot_be_loaded(page_of) -> None:
    ended = page_of(fake.busy_run(is_router=True, models=MODELS, state=State.STOPPED, exit=Exit(0, Text("Stopped."))))
    watched = page_of(fake.busy_run(is_router=True, models=MODELS, read_only=True))
    for page in (ended, watched):
        assert not any(b.isEnabled() for b in buttons(page).values())


def test_a_folder_of_models_is_no_missing_model(qtbot, planned: Desk) -> None:
    with qtbot.waitSignal(planned.previewChanged):
        planned.edit(Plan().with_("models-dir", "/models"))
    assert verdict_of(planned)[1].startswith("Many models")


def test_a_single_server_has_no_list_of_models(page_of) -> None:
    assert page_of(fake.busy_run()).body.models.isHidden()


def test_focus_stays_on_a_model_while_the_list_changes(qtbot, page_of) -> None:
    run = fake.busy_run(is_router=True, models=MODELS)
    page = page_of(run)
    with qtbot.waitActive(page):
        page.activateWindow()
    buttons(page)["Load gemma"].setFocus()
    qtbot.waitUntil(lambda: buttons(page)["Load gemma"].hasFocus())
    run.models = (MODELS[0], RouterModel("gemma", "loading", 4002), *MODELS[2:])
    page._pull(labels=True)
    qtbot.waitUntil(lambda: buttons(page)["Unload gemma"].hasFocus())
