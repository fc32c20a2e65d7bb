"""The main job in the window: real clicks, a real llama.cpp, a real model."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from paddock.engine import Engine

pytest.importorskip("PySide6.QtWidgets", reason="Qt does not start here", exc_type=ImportError)

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.run.askoptions import PromptEdit
from paddock.desktop.state import Desk
from paddock.desktop.window import MainWindow
from paddock.launch import parse
from paddock.server import State
from paddock.work import Workspace

PROMPTS = ("Name a colour.", "Write one sentence about horses.", "Count to five.")
pytestmark = [pytest.mark.qt_log_level_fail("WARNING"),
              pytest.mark.qt_log_ignore(r"This plugin does not support propagateSizeHints\(\)", extend=True)]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path / "data")
    yield made
    made.close()


@pytest.fixture
def window(qtbot: Any, workspace: Workspace, engine: Engine) -> Iterator[MainWindow]:
    desk = Desk(workspace)
    made = MainWindow(desk)
    qtbot.addWidget(made, before_close_func=lambda w: w.close_at_once())
    made.resize(1280, 800)
    made.show()
    with qtbot.waitSignals([desk.enginesChanged, desk.machineChanged], timeout=30_000):
        desk.start()
    yield made
    desk.close()
    bridge.shutdown()


def named(parent: QWidget, kind: type, name: str) -> Any:
    """The visible widget that a screen reader would call so."""
    found = [w for w in parent.findChildren(kind) if w.isVisible() and (w.accessibleName() or w.text()) == name]
    assert found, f"no visible {kind.__name__} is called {name}"
    return found[0]


def click(qtbot: Any, parent: QWidget, name: str, ready: Callable[[QPushButton], bool] = QWidget.isEnabled) -> None:
    qtbot.waitUntil(lambda: any(b.isVisible() and (b.accessibleName() or b.text()) == name and ready(b)
                                for b in parent.findChildren(QPushButton)), timeout=20_000)
    qtbot.mouseClick(named(parent, QPushButton, name), Qt.MouseButton.LeftButton)


def test_launch_prompt_stop_and_find_it_again(qtbot: Any, window: MainWindow, workspace: Workspace, sample_model: Path,
                                              port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = window.desk
    desk.open_model(sample_model)
    qtbot.waitUntil(lambda: window.current == "launch", timeout=20_000)
    for option, value in (("threads", 1), ("ctx-size", 2048), ("port", port), ("cache-ram", 0)):
        desk.set(option, value)
    qtbot.waitUntil(lambda: desk.preview is not None and desk.preview.plan == desk.plan, timeout=20_000)

    click(qtbot, window, "Launch")
    qtbot.waitUntil(lambda: desk.run is not None and desk.run.state is State.READY, timeout=60_000)
    run = desk.run
    pid = run.pid
    answers: list[Any] = []
    window.show_page("run")
    body = window.page("run").body
    body.ask.options.most.setValue(24)
    body.ask.answered.connect(answers.append)
    for number, prompt in enumerate(PROMPTS, 1):
        box = named(window, PromptEdit, "Prompt")
        qtbot.waitUntil(lambda box=box: box.isEnabled(), timeout=20_000)
        qtbot.keyClicks(box, prompt)
        click(qtbot, window, "Send")
        qtbot.waitUntil(lambda number=number: len(answers) == number, timeout=60_000)
    qtbot.waitUntil(lambda: sum(r.status == "done" for r in run.recorder.snapshot().requests) == 3, timeout=10_000)

    click(qtbot, window, "Stop", lambda b: b.isEnabled() and b.accessibleDescription() == "")
    qtbot.waitUntil(lambda: run.join(0), timeout=15_000)
    assert run.state is State.STOPPED
    assert not psutil.pid_exists(pid)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))

    detail = workspace.session(run.session_id)
    assert detail.row.state == "stopped"
    assert [r.status for r in detail.requests] == ["done"] * 3
    for request, answer in zip(detail.requests, answers, strict=True):
        assert request.generated_tokens == answer.generated_tokens
        assert request.generation_per_s == pytest.approx(answer.generation_per_s, rel=0.05)

    before = desk.preview.command

    with qtbot.waitSignal(desk.profileChanged, timeout=20_000):
        desk.profiles.save("Kept")
    desk.edit(parse("llama-server -m elsewhere.gguf"))
    desk.profiles.open("Kept")
    qtbot.waitUntil(lambda: desk.preview is not None and desk.preview.plan == desk.plan
                    and desk.plan.get("port") == str(port), timeout=20_000)
    assert desk.preview.command.argv == before.argv
    assert desk.preview.command.own == before.own
    window.show_page("sessions", run.session_id)
    page = window.page("sessions")
    qtbot.waitUntil(lambda: page.open_id == run.session_id, timeout=20_000)


def test_killing_the_window_ends_the_server_and_the_next_start_shows_it(engine: Engine, sample_model: Path,
                                                                        tmp_path: Path) -> None:
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PADDOCK_SAMPLE": str(sample_model)}
    data = tmp_path / "data"
    command = [sys.executable, "-m", "paddock", "--data-dir", str(data), "demo", "--seconds", "600", "--out",
               str(tmp_path / "out")]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as shown:
        assert shown.stderr is not None
        said = []
        for line in shown.stderr:
            said.append(line)
            if line.startswith("Prompt:"):
                break
        assert shown.poll() is None, "".join(said)
        children = psutil.Process(shown.pid).children(recursive=True)
        shown.kill()
        _, alive = psutil.wait_procs(children, timeout=2)
        shown.stderr.close()
    assert children
    assert not alive
    workspace = Workspace(data)
    try:
        (row,) = workspace.interrupted()
        assert row.state == "interrupted"
        assert workspace.leftovers() == []
    finally:
        workspace.close()
