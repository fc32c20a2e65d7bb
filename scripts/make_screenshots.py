"""Pictures of every page in both themes and two sizes, with invented data: python scripts/make_screenshots.py FOLDER

States: filled (long names, many files, a busy run), empty (nothing found, nothing run), failed (a server that did not
start), loading. `--state`, `--page`, `--theme` narrow it down. Needs no screen, no engine and no model.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path[:0] = [str(ROOT / "app"), str(ROOT / "tests" / "support")]

SIZES = ((1280, 800), (853, 533))
STATES = ("filled", "empty", "failed", "loading")
CHOSEN = "/home/ada/models/Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf"


def settle(app: Any, until: Callable[[], object] = lambda: True, least_s: float = 0.35, most_s: float = 5.0) -> None:
    """Run the event loop until the condition holds, at least `least_s` seconds."""
    from PySide6.QtCore import QEventLoop, QTimer

    loop = QEventLoop()
    timer = QTimer()
    waited = [0.0]

    def look() -> None:
        waited[0] += 0.05
        if (waited[0] >= least_s and until()) or waited[0] >= most_s:
            loop.quit()

    timer.timeout.connect(look)
    timer.start(50)
    loop.exec()
    app.sendPostedEvents()


def workspace_of(state: str, folder: Path) -> Any:
    """The invented workspace of a state."""
    import fakedesk as fake

    from paddock.server.model import Exit, State
    from paddock.text import Text

    if state == "empty":
        return fake.FakeWorkspace(folder, with_engine=False)
    run = fake.busy_run(label="Qwen3-30B-A3B-Instruct-2507-abliterated-with-a-name-that-goes-on-and-on")
    run.diagnoses = [fake.DEGRADED]
    if state == "failed":
        run.state, run.recorder = State.FAILED, fake.FakeRecorder()
        run.recorder.lines = fake.log_lines(40)
        run.exit = Exit(1, Text("It ended with exit code 1."), diagnosis=fake.OUT_OF_MEMORY)
        run.diagnoses = [fake.OUT_OF_MEMORY]
    elif state == "loading":
        run.state, run.recorder, run.diagnoses = State.LOADING, fake.FakeRecorder(), []
        run.recorder.lines = fake.log_lines(12)
    return fake.FakeWorkspace(folder, fake.entries(), [run], fake.sessions())


@contextmanager
def window_of(app: Any, state: str, size: tuple[int, int]) -> Iterator[Any]:
    """The real window on that workspace, with a plan on the desk where there are models."""
    from paddock.desktop.state import Desk
    from paddock.desktop.window import MainWindow

    with tempfile.TemporaryDirectory() as folder:
        workspace = workspace_of(state, Path(folder))
        desk = Desk(workspace)
        desk.run = workspace.runs[0] if workspace.runs else None
        window = MainWindow(desk)
        window.resize(*size)
        window.show()
        desk.start(Path(CHOSEN) if workspace.found else None)
        settle(app, lambda: desk.machine is not None and (desk.preview is not None or not workspace.found))
        yield window
        workspace.runs.clear()
        window.close()
        desk.close()
        window.deleteLater()
        settle(app, least_s=0.05)


def shots_of(window: Any, page: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """(name, what makes it ready) of each picture of a page; parts that lie behind each other are brought forward."""
    window.show_page(page)
    widget = window.page(page)
    if page == "models":
        yield "models", lambda: widget.desk.entries is not None
        if widget.model.rowCount():
            widget.show_item(CHOSEN)
            if widget.choice.isVisible():
                widget._open_current()
            widget.inspector._picture.choose(31)
            yield "models-file", lambda: True
            for i in range(1, widget.inspector._tabs.count()):
                widget.inspector._tabs.setCurrentIndex(i)
                yield f"models-tab{i}", lambda: True
    elif page == "run":
        yield "run", lambda: True
        if widget.run is not None:
            keys = ("requests", "ask", "log") if widget.body.compact else ()
            for key in keys:
                widget.body.choice.option(key).click()
                yield f"run-{key}", lambda: True
            widget.body.requests.ways.option("waterfall").click()
            widget.body.plots.as_table.click()
            yield "run-table", lambda: True
    elif page == "sessions":
        yield "sessions", lambda: widget.header.note.full_text() != ""
        if widget.model.rows:
            widget.show_trends()
            for way in ("trend", "spread", "pairs"):
                widget.trends.way.select(way)
                widget.trends.show_choice()
                yield f"sessions-{way}", lambda: widget.trends.model.count() > 1
            widget.trends.closed.emit()
        if widget.model.rowCount():
            for session_id in (4, 5):
                widget.model.choose(session_id)
            yield "sessions-compare", lambda: widget.compare.isVisible()
            widget.model.choose(3)
            yield "sessions-many", lambda: widget.many.isVisible()
            widget.model.clear_choice()
            widget.show_item(5)
            yield "sessions-open", lambda: widget.open_id == 5
            for i in range(1, widget.detail.tabs.count()):
                widget.detail.tabs.setCurrentIndex(i)
                yield f"sessions-tab{i}", lambda: True
    else:
        yield page, lambda: True


def main(argv: list[str] | None = None) -> int:
    """Writes FOLDER/<state>/<page>-<theme>-<width>.png; the exit code is 0 when all were written."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--state", choices=STATES, action="append")
    parser.add_argument("--page", action="append")
    parser.add_argument("--theme", choices=("light", "dark"), action="append")
    options = parser.parse_args(argv)
    from PySide6.QtWidgets import QApplication

    from paddock.desktop import bridge
    from paddock.desktop.theme import theme

    app = QApplication.instance() or QApplication(["paddock-screenshots"])
    count = 0
    for mode in options.theme or ("light", "dark"):
        theme().use(mode)
        for state in options.state or STATES:
            folder = options.folder / state
            folder.mkdir(parents=True, exist_ok=True)
            for size in SIZES:
                with window_of(app, state, size) as window:
                    for page in options.page or window.names:
                        for name, ready in shots_of(window, page):
                            settle(app, ready)
                            path = folder / f"{name}-{mode}-{size[0]}.png"
                            if not window.grab().save(str(path)):
                                print(f"could not be written: {path}", file=sys.stderr)
                                return 1
                            count += 1
    bridge.shutdown()
    print(f"{count} pictures in {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
