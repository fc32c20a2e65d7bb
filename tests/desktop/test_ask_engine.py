"""Ask the engine, from the dock's menu."""

from __future__ import annotations

import threading

import pytest
from desk_double import WorkspaceDouble
from PySide6.QtWidgets import QLabel

from paddock.desktop.dock import Dock
from paddock.desktop.dock.asking import AskDialog
from paddock.desktop.state import Desk
from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.work.engine_fit import Change, EngineFit, FitRow

MIB = 1 << 20


class Engine:
    """Answers when it is let; says whether it was told to stop."""

    def __init__(self) -> None:
        self.changes = (Change("ctx-size", "65536", "4096"), Change("n-gpu-layers", None, "12"))
        self.error: AppError | None = None
        self.may = threading.Event()
        self.stopped = threading.Event()

    def ask_engine(self, plan: Plan, *, cancelled) -> EngineFit:
        while not self.may.wait(0.01):
            if cancelled():
                self.stopped.set()
                raise AppError(Text("Cancelled."))
        if self.error is not None:
            raise self.error
        rows = (FitRow("CUDA0", (900 * MIB, 64 * MIB, 40 * MIB), (900 * MIB, 64 * MIB, 43 * MIB)),
                FitRow("Host", (100 * MIB, 0, 0), (100 * MIB + 5, 0, 0)))
        return EngineFit("server", Text("Both reckon for this very server."), rows, self.changes, plan, None, 1.0)


@pytest.fixture
def engine(workspace: WorkspaceDouble, monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr(workspace, "ask_engine", made.ask_engine, raising=False)
    return made


@pytest.fixture
def dialog(qtbot, planned: Desk, engine: Engine) -> AskDialog:
    dock = Dock(planned)
    qtbot.addWidget(dock)
    dock.show()
    action = next(a for a in dock.line.menu().actions() if a.text().startswith("Ask the engine"))
    assert action.isEnabled()
    action.trigger()
    made = dock.findChild(AskDialog) or dock.window().findChild(AskDialog)
    assert made is not None
    assert made.isVisible()
    return made


def cells(dialog: AskDialog) -> list[list[str]]:
    rows, columns = dialog.grid.rowCount(), dialog.grid.columnCount()
    found = [[dialog.grid.itemAtPosition(r, c).widget() for c in range(columns)] for r in range(rows)]
    return [[w.text() if isinstance(w, QLabel) else "" for w in line] for line in found]


def test_both_sides_stand_beside_each_other_and_the_fit_can_be_taken(qtbot, dialog: AskDialog, planned: Desk,
                                                                     engine: Engine) -> None:
    engine.may.set()
    qtbot.waitUntil(lambda: dialog.answer is not None)
    assert cells(dialog)[1:] == [["CUDA0", "weights", "900", "900", "0"], ["", "KV cache", "64", "64", "0"],
                                 ["", "compute", "40", "43", "−3"], ["Host", "weights", "100", "100", "0"]]
    assert "differ" in dialog.agreement.text()
    assert "--ctx-size 4096 (now 65536), --n-gpu-layers 12 (now not set)" in dialog.change.full_text()
    before = planned.plan
    dialog.take.click()
    assert planned.plan == before.with_("ctx-size", "4096").with_("n-gpu-layers", "12")


def test_where_nothing_would_change_there_is_nothing_to_take(qtbot, dialog: AskDialog, engine: Engine) -> None:
    engine.changes = ()
    engine.may.set()
    qtbot.waitUntil(lambda: dialog.answer is not None)
    assert dialog.change.full_text() == "--fit would change nothing."
    assert not dialog.take.isVisible()
    dialog.close_button.click()


def test_a_refusal_is_said_in_the_dialog(qtbot, dialog: AskDialog, engine: Engine) -> None:
    engine.error = AppError(Text("It refuses."), why=Text("The line."), hint=Text("Turn it on."))
    engine.may.set()
    qtbot.waitUntil(lambda: dialog.words.text() == "It refuses.")
    assert dialog.note.text() == "The line. Turn it on."
    dialog.close_button.click()


def test_closing_it_ends_the_asking(qtbot, dialog: AskDialog, planned: Desk, engine: Engine) -> None:
    plan = planned.plan
    dialog.close_button.click()
    qtbot.waitUntil(engine.stopped.is_set)
    assert planned.plan == plan


def test_without_an_engine_there_is_nobody_to_ask(qtbot, desk: Desk) -> None:
    dock = Dock(desk)
    qtbot.addWidget(dock)
    action = next(a for a in dock.line.menu().actions() if a.text().startswith("Ask the engine"))
    assert not action.isEnabled()
