"""The window as a whole: pages, keys, names, files dropped on it, closing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from desk_double import WorkspaceDouble, engine_at
from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QPointF, QSize, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QTableView,
    QWidget,
)

from paddock import text
from paddock.desktop.pages.settings import SettingsPage
from paddock.desktop.state import Desk
from paddock.desktop.theme import theme
from paddock.desktop.window import MainWindow
from paddock.errors import AppError
from paddock.server.model import State
from paddock.text import Text

INPUTS = (QAbstractButton, QComboBox, QLineEdit, QAbstractSpinBox, QAbstractSlider, QPlainTextEdit, QAbstractItemView)


def unnamed(root: QWidget) -> list[str]:
    """Controls that a screen reader could not name. Qt itself names what is inside its own controls."""
    found = []
    for widget in root.findChildren(QWidget):
        above = [widget.parent(), widget.parent() and widget.parent().parent()]
        inner = any(isinstance(w, (QComboBox, QAbstractSpinBox, QLineEdit, QTableView)) for w in above)
        inner = inner or isinstance(widget, (QScrollBar, QHeaderView))
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        if isinstance(widget, INPUTS) and not inner and not (widget.accessibleName() or text):
            found.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")
    return found


def test_every_control_of_every_page_has_a_name(qtbot, window: MainWindow, planned: Desk) -> None:
    for name in window.names:
        window.show_page(name)
    assert unnamed(window) == []


def test_making_the_pages_opens_no_other_window(qtbot, window: MainWindow) -> None:
    seen = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
                seen.append(type(watched).__name__)
            return False
    watch = Watch()
    QApplication.instance().installEventFilter(watch)
    for name in window.names:
        window.show_page(name)
    QApplication.instance().removeEventFilter(watch)
    assert seen == []


def test_pages_come_by_click_by_key_and_by_wish(qtbot, window: MainWindow, desk: Desk) -> None:
    for number, name in enumerate(window.names, 1):
        qtbot.keyClick(window, getattr(Qt.Key, f"Key_{number}"), Qt.KeyboardModifier.ControlModifier)
        assert window.current == name
    desk.pageWanted.emit("launch", None)
    assert window.current == "launch"
    assert "Launch" in window.windowTitle()


def test_the_dock_is_full_on_launch_and_folded_elsewhere_unless_wished(qtbot, window: MainWindow) -> None:
    window.show_page("launch")
    assert not window.dock.is_folded()
    window.show_page("settings")
    assert window.dock.is_folded()
    window.dock.folded.emit(False)
    assert not window.dock.is_folded()
    window.show_page("launch")
    window.show_page("settings")
    assert not window.dock.is_folded()


def test_a_low_window_folds_the_dock_and_a_narrow_one_the_rail(qtbot, window: MainWindow) -> None:
    window.show_page("launch")
    window.resize(853, 533)
    qtbot.waitUntil(window.dock.is_folded)
    assert window._rail.width() < 60


def test_nothing_asks_for_more_room_than_150_percent_leaves(qtbot, window: MainWindow, planned: Desk) -> None:
    window.resize(853, 533)
    for name in window.names:
        window.show_page(name)
        qtbot.waitUntil(lambda: window.minimumSizeHint().width() <= 853)
        assert window.minimumSizeHint().height() <= 533, name
        assert window.size() == QSize(853, 533)


def drop(window: MainWindow, path: str) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(path)])
    window.dropEvent(QDropEvent(QPointF(QPoint(5, 5)), Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton,
                                Qt.KeyboardModifier.NoModifier))


def test_a_dropped_model_file_opens_on_launch(qtbot, window: MainWindow, desk: Desk) -> None:
    with qtbot.waitSignal(desk.pageWanted):
        drop(window, "/models/a.gguf")
    assert desk.model_path() == "/models/a.gguf"
    assert window.current == "launch"


def test_another_file_dropped_is_left_alone(qtbot, window: MainWindow, desk: Desk) -> None:
    with qtbot.assertNotEmitted(desk.planChanged, wait=20):
        drop(window, "/home/letter.txt")


def test_a_problem_is_said_in_words_above_the_page(qtbot, window: MainWindow, desk: Desk) -> None:
    desk.failed.emit(AppError(Text("It broke."), why=Text("A reason."), hint=Text("Mend it.")))
    assert window.banner.isVisible()
    assert window.banner.accessibleName() == "It broke. A reason. Mend it."
    desk.failed.emit(AppError(Text("It broke."), why="No space left on device", hint=Text("Make room.")))
    assert window.banner.accessibleName() == "It broke. No space left on device. Make room."


def test_the_run_button_carries_the_state(qtbot, window: MainWindow, planned: Desk) -> None:
    with qtbot.waitSignal(planned.runsChanged):
        planned.launch()
    qtbot.waitUntil(lambda: planned.run is not None)
    planned.run.become(State.READY)
    button = window._rail.buttons["run"]
    qtbot.waitUntil(lambda: button.accessibleDescription() == "Ready")
    assert button._dot == "ok"


def launch_by_key(qtbot, window: MainWindow, desk: Desk) -> None:
    with qtbot.waitSignal(desk.pageWanted):
        qtbot.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def test_keys_launch_stop_undo_and_reach_the_command_line(qtbot, window: MainWindow, planned: Desk, workspace) -> None:
    window.show_page("launch")
    planned.set("ctx-size", 2048)
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert planned.plan.integer("ctx-size") == 65536
    qtbot.keyClick(window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert window.focusWidget() is window.dock.line.edit
    launch_by_key(qtbot, window, planned)
    qtbot.keyClick(window, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    assert planned.run.stopped


@pytest.mark.parametrize("goes_on", [True, False])
def test_stopping_a_server_that_is_answering_asks_first(qtbot, window: MainWindow, planned: Desk, monkeypatch,
                                                       goes_on: bool) -> None:
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    planned.run.state = State.READY
    told = replace(planned.run.recorder.snapshot(), active_requests=2)
    monkeypatch.setattr(planned.run.recorder, "snapshot", lambda: told)
    asked = []
    monkeypatch.setattr(MainWindow, "ask_to_stop", lambda _w, count: asked.append(count) or not goes_on)
    window.stop()
    assert asked == [2]
    assert planned.run.stopped is not goes_on


@pytest.mark.parametrize(("choice", "closes", "stops"), [("cancel", False, False), ("stop", True, True),
                                                         ("keep", True, False)])
def test_closing_with_a_server_asks(qtbot, window: MainWindow, planned: Desk, monkeypatch, choice: str, closes: bool,
                                    stops: bool) -> None:
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    run = planned.run
    run.supervisor = SimpleNamespace(spec=SimpleNamespace(keep_serving=True))
    monkeypatch.setattr(MainWindow, "ask_to_close", lambda *_a: choice)
    assert window.close() is closes
    assert run.stopped is stops


def test_a_signal_closes_without_a_question(qtbot, window: MainWindow, planned: Desk, monkeypatch) -> None:
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    monkeypatch.setattr(MainWindow, "ask_to_close", lambda *_a: pytest.fail("asked"))
    window.close_at_once()
    assert not window.isVisible()


def test_page_and_folds_are_remembered(qtbot, window: MainWindow, desk: Desk) -> None:
    window.show_page("settings")
    window.dock.folded.emit(False)
    window.close()
    again = MainWindow(desk)
    qtbot.addWidget(again)
    assert again.current == "settings"
    again.resize(1280, 800)
    again.show()
    assert not again.dock.is_folded()


@dataclass
class LeftoverDouble:
    label: str = "Qwen3"
    pid: int = 77
    url: str = "http://127.0.0.1:8081"
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True


def test_a_server_of_an_earlier_paddock_can_be_stopped_from_the_banner(qtbot, window: MainWindow, desk: Desk) -> None:
    left = LeftoverDouble()
    desk.leftoversFound.emit([left])
    assert "Qwen3" in window.banner.accessibleName()
    stop = next(b for b in window.banner.findChildren(QAbstractButton) if b.text() == "Stop it")
    qtbot.mouseClick(stop, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: left.stopped)
    assert not window.banner.isVisible()


def test_another_language_or_text_size_rebuilds_the_window_in_place(qtbot, window: MainWindow, planned: Desk) -> None:
    window.show_page("settings")
    before = window.page("settings")
    text.use_language("it")
    with qtbot.waitSignal(planned.lookChanged):
        planned.lookChanged.emit()
    qtbot.waitUntil(lambda: window.page("settings") is not before)
    assert window.current == "settings"
    assert planned.model_path() is not None


@pytest.fixture
def settings(qtbot, desk: Desk) -> SettingsPage:
    made = SettingsPage(desk)
    qtbot.addWidget(made)
    made.resize(900, 600)
    made.show()
    yield made
    theme().use("system", 1.0)


def test_the_theme_is_switched_and_written(qtbot, settings: SettingsPage, workspace: WorkspaceDouble) -> None:
    qtbot.mouseClick(settings.look.theme.option("dark"), Qt.MouseButton.LeftButton)
    assert theme().dark
    assert workspace.settings.theme == "dark"
    qtbot.waitUntil(lambda: workspace.saved_settings == 1)


def test_what_launches_taught_can_be_switched_off_and_forgotten(qtbot, settings: SettingsPage,
                                                                workspace: WorkspaceDouble) -> None:
    settings.launching.correct.setChecked(False)
    assert workspace.settings.correct_estimates is False
    settings.launching.forget.click()
    qtbot.waitUntil(lambda: settings.launching.forget.text() == "Forgotten")
    assert workspace.forgotten == 1


def test_language_text_size_and_retention_are_written(settings: SettingsPage, workspace: WorkspaceDouble) -> None:
    settings.look.language.activated.emit(settings.look.language.findData("it"))
    settings.look.scale.activated.emit(settings.look.scale.findData(1.25))
    settings.data.days.setValue(30)
    settings.data.room.setValue(2048)
    settings.launching.restarts.setValue(2)
    settings.launching.keep.setChecked(True)
    chosen = workspace.settings
    assert (chosen.language, chosen.font_scale, chosen.keep_sessions_days) == ("it", 1.25, 30)
    assert chosen.keep_sessions_mib == 2048
    assert (chosen.restart_limit, chosen.keep_serving) == (2, True)


def test_engines_are_listed_with_what_they_say_and_the_default_can_be_chosen(qtbot, settings: SettingsPage, desk: Desk,
                                                                            workspace: WorkspaceDouble) -> None:
    desk.engines = [engine_at(), engine_at("/other/llama", name="Other"), engine_at("/dead", error=Text("It hangs."))]
    desk.enginesChanged.emit()
    make = next(b for b in settings.findChildren(QAbstractButton) if b.accessibleName() == "Make Other the default")
    qtbot.mouseClick(make, Qt.MouseButton.LeftButton)
    assert workspace.settings.default_engine == "/other/llama"


def test_a_model_folder_can_be_forgotten(qtbot, settings: SettingsPage, desk: Desk, workspace: WorkspaceDouble) -> None:
    workspace.settings.model_folders = ["/a", "/b"]
    desk.settingsChanged.emit()
    forget = next(b for b in settings.findChildren(QAbstractButton) if b.accessibleName() == "Forget /a")
    qtbot.mouseClick(forget, Qt.MouseButton.LeftButton)
    assert workspace.settings.model_folders == ["/b"]


def test_notices_of_the_start_are_shown_once(qtbot, window: MainWindow) -> None:
    window.show_notices([Text("The settings were set aside."), Text("Defaults are used.")])
    assert "set aside" in window.banner.accessibleName()
    assert Path(window.desk.workspace.paths.root).name == "data"


def test_a_window_larger_than_the_screen_fills_the_screen(qtbot, window: MainWindow) -> None:
    window.hide()
    room = window.screen().availableGeometry()
    window.resize(room.width() + 300, room.height() + 100)
    window.fit_screen()
    assert window.isMaximized()
    assert window.height() <= room.height()


@pytest.mark.parametrize("language", ["en", "it"])
def test_the_words_of_the_rail_have_air_on_both_sides(qtbot, window: MainWindow, language: str) -> None:
    window.resize(1280, 800)
    text.use_language(language)
    try:
        window.rebuild()
        for made in window._rail.buttons.values():
            assert made.wanted_width() <= made.width()
    finally:
        text.use_language("en")


def test_a_dropped_folder_is_looked_into_for_models(qtbot, window: MainWindow, desk: Desk, tmp_path: Path) -> None:
    drop(window, str(tmp_path))
    assert desk.workspace.settings.model_folders == [str(tmp_path)]
    assert window.current == "models"
