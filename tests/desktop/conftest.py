"""The window without a screen: Qt's warnings fail a test, worker threads are joined after it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt does not start here", exc_type=ImportError)

sys.path.insert(0, str(Path(__file__).parent))

import fakedesk
from desk_double import WorkspaceDouble, what_if_at_once

from paddock import text
from paddock.desktop import bridge
from paddock.desktop.pages.run import RunPage
from paddock.desktop.state import Desk
from paddock.desktop.window import MainWindow

_NO_SCREEN = r"This plugin does not support (propagateSizeHints|raise|grabbing)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in Path(item.path).parents:
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            item.add_marker(pytest.mark.qt_log_ignore(_NO_SCREEN, extend=True))


@pytest.fixture(autouse=True)
def calm_end(qapp) -> Iterator[None]:
    """English, no window and no worker thread is left to the next test."""
    text.use_language("en")
    yield
    bridge.shutdown()
    text.use_language("en")


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceDouble:
    return WorkspaceDouble(tmp_path / "data")


@pytest.fixture
def desk(qtbot, workspace: WorkspaceDouble) -> Iterator[Desk]:
    """Started: engines and machine are known."""
    made = Desk(workspace, ask=what_if_at_once)  # type: ignore[arg-type]
    with qtbot.waitSignals([made.enginesChanged, made.machineChanged, made.modelsChanged, made.profileChanged]):
        made.start()
    yield made
    made.close()


@pytest.fixture
def run_page_of(qtbot, tmp_path: Path) -> Iterator[Callable[..., RunPage]]:
    """Makes the Run page of one run: (run, height=744)."""
    desks: list[Desk] = []

    def make(run: fakedesk.FakeRun, height: int = 744) -> RunPage:
        desk = Desk(fakedesk.FakeWorkspace(tmp_path, runs=[run]))  # type: ignore[arg-type]
        desks.append(desk)
        desk.run = run  # type: ignore[assignment]
        made = RunPage(desk)
        qtbot.addWidget(made)
        made.resize(1216, height)
        made.show()
        return made

    yield make
    for desk in desks:
        desk.workspace.runs.clear()
        desk.close()


@pytest.fixture
def window(qtbot, desk: Desk) -> MainWindow:
    made = MainWindow(desk)
    qtbot.addWidget(made, before_close_func=_at_once)
    made.resize(1280, 800)
    made.show()
    return made


def _at_once(window: MainWindow) -> None:
    window._closing = True


@pytest.fixture
def save(qtbot, planned: Desk) -> Callable[[str], None]:
    """Save what is on the desk as a profile."""
    def do(name: str) -> None:
        with qtbot.waitSignal(planned.profileChanged):
            planned.profiles.save(name)
    return do


@pytest.fixture
def planned(qtbot, desk: Desk) -> Desk:
    """With a model on the desk and everything about it known."""
    with qtbot.waitSignal(desk.whatIfChanged):
        desk.open_model("/models/Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf")
    return desk
