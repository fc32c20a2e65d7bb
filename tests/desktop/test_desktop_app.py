"""The program: it opens, keeps its head when something breaks, and goes when it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QMessageBox

from paddock.desktop.app import Guard, main

ROOT = Path(__file__).resolve().parents[2]
_OPEN = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
app = QApplication(["paddock"])
QTimer.singleShot(300, lambda: print("open", flush=True))
from paddock.desktop.app import main
sys.exit(main(data_dir=sys.argv[1]))
"""


@pytest.fixture
def guard(qtbot, tmp_path: Path):
    made = Guard(tmp_path / "logs" / "paddock.log")
    made.install()
    yield made
    made.remove()


def boxes() -> list[QMessageBox]:
    return [w for w in QApplication.topLevelWidgets() if isinstance(w, QMessageBox) and w.isVisible()]


def test_an_unexpected_error_is_logged_and_said_once(qtbot, guard: Guard) -> None:
    for _ in range(3):
        try:
            raise ZeroDivisionError("nought")
        except ZeroDivisionError as error:
            sys.excepthook(type(error), error, error.__traceback__)
    qtbot.waitUntil(lambda: len(boxes()) == 1)
    shown = boxes()[0]
    assert "nought" in shown.informativeText()
    assert "ZeroDivisionError" in shown.detailedText()
    assert guard.log_path.read_text().count("ZeroDivisionError: nought") == 3
    shown.close()
    qtbot.waitUntil(lambda: not boxes())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_in_a_thread_is_caught_too(qtbot, guard: Guard) -> None:
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: len(boxes()) == 1)
    boxes()[0].close()
    assert "division by zero" in guard.log_path.read_text()


@pytest.mark.skipif(os.name == "nt", reason="signals of a POSIX system")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_window_in_order(tmp_path: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "app"), "QT_QPA_PLATFORM": "offscreen", "PATH": os.devnull,
                   "HOME": str(tmp_path)}
    program = subprocess.Popen([sys.executable, "-c", _OPEN, str(tmp_path / "data")], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert program.stdout is not None
        assert program.stdout.readline().strip() == "open"
        program.send_signal(number)
        _, errors = program.communicate(timeout=30)
    finally:
        program.kill()
    assert program.returncode == 0, errors
    assert "Traceback" not in errors
    assert (tmp_path / "data" / "window.ini").exists()


def test_a_data_folder_that_cannot_be_written_is_said_and_no_window_opens(qtbot, tmp_path: Path, capsys,
                                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[QMessageBox] = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: said.append(box) or 0)
    (tmp_path / "file").write_text("")
    assert main(data_dir=tmp_path / "file" / "data") == 1
    assert len(said) == 1
    assert str(tmp_path) in said[0].text()
    assert str(tmp_path) in capsys.readouterr().err
