"""The dock says what it costs, why, and what would help; the command line is the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from desk_double import GIB, WorkspaceDouble, engine_at
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QInputDialog, QMenu, QPushButton

from paddock.desktop.dock import Dock
from paddock.desktop.dock.bars import bars_for
from paddock.desktop.dock.control import blocked
from paddock.desktop.pages.launch.before import IssueRow
from paddock.desktop.pages.launch.fields_more import AddressField
from paddock.desktop.parts.memory import BarValues, MemoryBar, free_words, measured
from paddock.desktop.state import Desk
from paddock.fit.model import Verdict
from paddock.launch.model import Addition, Issue, Severity
from paddock.server.model import Diagnosis, Exit, State
from paddock.text import Text


@pytest.fixture
def dock(qtbot, planned: Desk) -> Dock:
    made = Dock(planned)
    qtbot.addWidget(made)
    made.resize(1216, 200)
    made.show()
    return made


def wait_for(qtbot, desk: Desk, **settings: object) -> None:
    plan = desk.plan
    for option, value in settings.items():
        plan = plan.with_(option.replace("_", "-"), str(value))
    with qtbot.waitSignal(desk.whatIfChanged):
        desk.edit(plan)


def test_a_bar_for_each_device_and_the_host_last(dock: Dock, planned: Desk) -> None:
    names = [values.name for values, _ in bars_for(planned.preview, planned.machine)]
    assert names == ["CUDA0", "CUDA1", "Host"]
    assert [line[0].full_text() for line in dock.bars._rows] == names
    assert dock.bars._rows[0][1].full_text() == "RTX 4090"


def test_the_verdict_names_the_device_and_the_figure(qtbot, dock: Dock, planned: Desk) -> None:
    wait_for(qtbot, planned, ctx_size=200000)
    assert dock.verdict.chip.text() == "Won’t fit"
    assert "short" in dock.verdict.reason.text()
    assert dock.small_verdict.chip.text() == "Won’t fit"


def test_where_it_fits_it_says_how_much_context_there_is_room_for(dock: Dock, planned: Desk) -> None:
    assert dock.verdict.chip.text() == "Fits"
    assert f"{planned.what_if.fits_up_to:,}" in dock.verdict.reason.text()


def test_a_fix_edits_the_plan_and_launches_nothing(qtbot, dock: Dock, planned: Desk, workspace) -> None:
    wait_for(qtbot, planned, ctx_size=200000)
    first = dock.verdict._fixes.itemAt(0).widget()
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    assert planned.plan.integer("ctx-size") == planned.what_if.fits_up_to
    assert workspace.launched == []


def test_the_folded_chip_offers_the_fixes_by_keyboard(qtbot, dock: Dock, planned: Desk) -> None:
    dock.set_folded(True)
    with qtbot.waitSignal(dock.small_verdict.chip.activated):
        qtbot.keyClick(dock.small_verdict.chip, Qt.Key.Key_Return)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert menu.actions()[0].text().startswith("Context")
    menu.close()
    assert dock.height() < 100


def test_launch_and_stop_are_one_button(qtbot, dock: Dock, planned: Desk) -> None:
    with qtbot.waitSignal(planned.pageWanted):
        qtbot.mouseClick(dock.control.button, Qt.MouseButton.LeftButton)
    assert dock.control.button.text() == "Stop"
    assert dock.control.state.text() == "Starting"
    planned.run.become(State.LOADING)
    qtbot.waitUntil(lambda: "42 %" in dock.control.state.text())
    planned.run.become(State.READY)
    qtbot.waitUntil(lambda: dock.control.state.text() == "Ready")
    assert "127.0.0.1:8080" in dock.control.note.full_text()
    with qtbot.waitSignal(dock.stopPressed):
        qtbot.mouseClick(dock.control.button, Qt.MouseButton.LeftButton)


def on_port(preview, port: int):
    kept = [a for a in preview.command.additions if a.id != "port"]
    added = Addition("port", ("--port", str(port)), reason=Text("The port is named."))
    return replace(preview, command=replace(preview.command, additions=(*kept, added)))


def test_while_a_server_runs_the_line_and_the_form_name_its_own_port(qtbot, dock: Dock, planned: Desk) -> None:
    field = AddressField(planned)
    qtbot.addWidget(field)
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    planned.run.become(State.READY)
    planned.run.preview = on_port(planned.run.preview, 8080)
    planned.take_preview(on_port(planned.preview, 8081))  # made while the server holds 8080
    assert "--port 8080" in dock.line.edit.toPlainText()
    assert field.port.value() == 8080
    planned.run.become(State.STOPPED, Exit(0, Text("It was stopped.")))
    qtbot.waitUntil(lambda: not planned.live())
    planned.take_preview(on_port(planned.preview, 8081))  # somebody else's server took it since
    assert "--port 8081" in dock.line.edit.toPlainText()
    assert field.port.value() == 8081


def test_a_failure_says_its_cause(qtbot, dock: Dock, planned: Desk) -> None:
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    found = Diagnosis("oom", Text("out of memory"), Text("Take less context."))
    planned.run.become(State.FAILED, Exit(1, Text("ended"), diagnosis=found))
    qtbot.waitUntil(lambda: dock.control.state.text() == "Stopped: out of memory")
    assert dock.control.button.text() == "Launch"


def test_a_disabled_launch_says_why(qtbot, dock: Dock, planned: Desk, workspace: WorkspaceDouble) -> None:
    workspace.issues = (Issue("port", Severity.ERROR, "port", Text("A port is 1 to 65535.")),)
    wait_for(qtbot, planned, port=99999)
    assert not dock.control.button.isEnabled()
    assert dock.verdict.why.full_text() == dock.small_verdict.reason.text() == "Launch waits: A port is 1 to 65535."
    assert dock.control.button.accessibleDescription() == "A port is 1 to 65535."


def test_without_engine_or_model_it_says_which_is_missing(qtbot, desk: Desk) -> None:
    made = Dock(desk)
    qtbot.addWidget(made)
    assert "model" in blocked(desk)
    desk.engines = [replace(engine_at(), error=Text("It does not start."))]
    assert "engine" in blocked(desk)
    desk.engines = None
    made.refresh()
    assert "llama.cpp" in made.verdict.reason.text()


def test_a_file_that_cannot_be_read_is_cant_tell_with_the_reason(qtbot, desk: Desk) -> None:
    made = Dock(desk)
    qtbot.addWidget(made)
    with qtbot.waitSignal(desk.previewChanged):
        desk.set("model", "/models/broken.gguf")
    assert made.verdict.chip.text() == "Can’t tell"
    assert "is not a GGUF file" in made.verdict.reason.text()


def test_writing_in_the_command_line_and_return_changes_the_plan(qtbot, dock: Dock, planned: Desk) -> None:
    edit = dock.line.edit
    edit.setFocus()
    edit.setPlainText("llama-server -m /models/b.gguf -c 1024 --metrics")
    assert edit.dirty()
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert planned.plan.get("model") == "/models/b.gguf"
    assert planned.plan.integer("ctx-size") == 1024
    assert planned.plan.find("metrics") is None
    assert not edit.dirty()


def test_escape_takes_an_edit_of_the_command_line_back(qtbot, dock: Dock, planned: Desk) -> None:
    edit = dock.line.edit
    before = edit.toPlainText()
    edit.setPlainText("rubbish")
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert edit.toPlainText() == before
    assert not edit.dirty()


def test_pasting_a_command_line_fills_the_plan(qtbot, dock: Dock, planned: Desk) -> None:
    QGuiApplication.clipboard().setText("./llama-server -m /models/c.gguf \\\n  -ctk q8_0 -ctv q8_0 --port 9000")
    dock.line.paste()
    assert planned.plan.get("cache-type-k") == "q8_0"
    assert planned.plan.integer("port") == 9000


def test_copying_asks_for_the_shell_that_was_chosen(qtbot, dock: Dock) -> None:
    dock.line.copy("powershell")
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == "powershell: llama-server")


def test_the_menu_lists_what_paddock_adds_with_the_reason_and_switches_it(qtbot, dock: Dock, planned: Desk) -> None:
    actions = {a.text(): a for a in dock.line.menu().actions() if a.isCheckable()}
    chosen = next(a for text, a in actions.items() if text.startswith("--metrics"))
    assert "Figures for the Run page." in chosen.text()
    with qtbot.waitSignal(planned.previewChanged):
        chosen.trigger()
    assert "--metrics" not in dock.line.edit.toPlainText()
    assert any("switched off" in a.text() for a in dock.line.menu().actions())


def test_a_bar_speaks(qtbot) -> None:
    bar = MemoryBar()
    qtbot.addWidget(bar)
    terms = (("weights", 11 * GIB), ("kv", 4 * GIB))
    bar.show_values(BarValues("CUDA0", terms, GIB, 24 * GIB, 23 * GIB, GIB, Verdict.FITS))
    assert bar.accessibleDescription() == "Weights 11.00, KV cache 4.00, Other 1.00; 8.00 free of 24.0 GiB."
    bar.show_values(BarValues("CUDA0", unknown="part 3 of 6 is missing"))
    assert bar.accessibleDescription() == "part 3 of 6 is missing"


@pytest.mark.parametrize(("used", "word", "role"), [(5, "free", "text"), (9.5, "free", "warn"), (11, "over", "bad")])
def test_what_stays_free_is_coloured_and_worded(used: float, word: str, role: str) -> None:
    values = BarValues("CUDA0", (("weights", int(used * GIB)),), 0, 10 * GIB, 10 * GIB, GIB)
    text, _, found = free_words(values)
    assert word in text
    assert found == role


def test_a_running_server_s_bar_is_measured_and_marks_the_prediction() -> None:
    predicted = BarValues("CUDA0", (("weights", 10), ("kv", 4), ("overhead", 2)), 0, 100, 100)
    found = measured(predicted, {"main": [{"name": "CUDA0", "model": 11, "context": 4, "compute": 3}]})
    assert dict(found.terms) == {"weights": 11, "kv": 4, "compute": 3, "overhead": 2}
    assert found.predicted == 16
    assert measured(predicted, {"main": []}) is predicted


@pytest.mark.parametrize("values", [
    BarValues("a", unknown="why"),
    BarValues("a", (("weights", 90), ("kv", 30), ("draft", 3), ("projector", 2), ("overhead", 1)), 5, 100, 95, 10),
    BarValues("a", (("weights", 10),), 5, 100, 95, 10, predicted=12),
    BarValues("a", total=0, free=0),
])
def test_every_kind_of_bar_can_be_painted(qtbot, values: BarValues) -> None:
    bar = MemoryBar()
    qtbot.addWidget(bar)
    bar.show_values(values)
    bar.resize(200, 27)
    assert not bar.grab().isNull()


def test_a_line_that_cannot_be_read_stays_as_it_was_written(qtbot, dock: Dock, planned: Desk) -> None:
    before, edit = planned.plan, dock.line.edit
    edit.setPlainText("llama-server -m 'unclosed")
    with qtbot.waitSignal(planned.failed):
        edit.apply()
    dock.refresh()
    assert edit.toPlainText() == "llama-server -m 'unclosed"
    assert edit.dirty()
    assert planned.plan == before


def test_launch_takes_the_line_as_it_is_in_sight(qtbot, dock: Dock, planned: Desk, workspace: WorkspaceDouble,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[str | None] = []
    monkeypatch.setattr(planned, "launch", lambda: launched.append(planned.plan.get("ctx-size")))
    dock.line.edit.setPlainText("llama-server -m /models/a.gguf -c 1234")
    dock.control.launchPressed.emit()
    assert launched == ["1234"]
    dock.line.edit.setPlainText("llama-server -m 'unclosed")
    dock.control.launchPressed.emit()
    assert launched == ["1234"], "a line that cannot be read is not launched as something else"


def test_a_long_fix_of_a_check_can_be_read(qtbot, planned: Desk) -> None:
    fix = Text("Take it out, or choose an engine that knows it.")
    made = IssueRow(planned, Issue("x", Severity.ERROR, None, Text("This engine does not know it."), fix,
                                   (("ctx-size", None),)))
    qtbot.addWidget(made)
    made.resize(380, 100)
    made.show()
    button = made.findChild(QPushButton)
    assert button.fontMetrics().horizontalAdvance(button.text()) <= button.width()
    assert button.text().startswith("Take it out")


SEVERAL = "models:\n  big:\n    cmd: llama-server -m /m/a.gguf -c 512\n  small:\n    cmd: llama-server -m /m/b.gguf\n"


def test_of_several_models_in_what_is_pasted_the_person_chooses(qtbot, planned: Desk,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    dock = Dock(planned)
    qtbot.addWidget(dock)
    asked: list[list[str]] = []

    def choose(_owner: object, _title: str, _question: str, names: list[str], *_: object) -> tuple[str, bool]:
        asked.append(names)
        return names[-1], len(asked) > 1

    monkeypatch.setattr(QInputDialog, "getItem", choose)
    QGuiApplication.clipboard().setText(SEVERAL)
    before = planned.plan
    dock.line.paste()
    assert planned.plan is before, "the question was left"
    dock.line.paste()
    assert planned.plan.get("model") == "/m/b.gguf"
    assert asked == [["big", "small"]] * 2
    QGuiApplication.clipboard().setText("llama-server -m /m/c.gguf")
    dock.line.paste()
    assert planned.plan.get("model") == "/m/c.gguf"
    assert len(asked) == 2, "one model needs no question"
