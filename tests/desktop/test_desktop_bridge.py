"""Long work: off the GUI thread, its end in it, nothing for those who are gone."""

from __future__ import annotations

import sys
import threading

import pytest
from PySide6.QtCore import QObject

from paddock.desktop import bridge
from paddock.errors import AppError


def test_work_runs_elsewhere_and_its_end_arrives_here(qtbot) -> None:
    owner, seen = QObject(), []
    job = bridge.run(threading.current_thread, lambda thread: seen.append((thread, threading.current_thread())), None,
                     owner, name="where")
    qtbot.waitUntil(lambda: bool(seen))
    worker, here = seen[0]
    assert worker is not here
    assert here is threading.main_thread()
    assert worker.name.startswith("paddock-desktop")
    assert not job.running


def test_an_error_in_words_reaches_failed(qtbot) -> None:
    owner, seen = QObject(), []

    def fail() -> None:
        raise AppError("it broke", hint="mend it")
    bridge.run(fail, lambda _r: pytest.fail("done"), seen.append, owner, name="fails")
    qtbot.waitUntil(lambda: bool(seen))
    assert seen[0].hint == "mend it"


def test_an_unexpected_error_goes_to_the_last_line_of_defence_and_to_failed(qtbot, monkeypatch) -> None:
    owner, seen, hooked = QObject(), [], []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: hooked.append(kind))
    bridge.run(lambda: 1 / 0, None, seen.append, owner, name="divides")
    qtbot.waitUntil(lambda: bool(seen))
    assert hooked == [ZeroDivisionError]
    assert isinstance(seen[0], AppError)


def test_nothing_is_delivered_to_an_owner_that_is_gone_or_after_a_cancel(qtbot) -> None:
    go, owner, kept, seen = threading.Event(), QObject(), QObject(), []
    first = bridge.run(go.wait, lambda _r: seen.append("gone owner"), None, owner, name="gone")
    second = bridge.run(go.wait, lambda _r: seen.append("cancelled"), None, kept, name="cancelled")
    owner.deleteLater()
    qtbot.wait(1)
    second.cancel()
    with qtbot.waitSignals([first.ended, second.ended]):
        go.set()
    assert seen == []


def test_progress_is_told_until_it_is_cancelled(qtbot) -> None:
    owner, job, seen = QObject(), bridge.Job("counts"), []
    job.progress.connect(lambda done, total, text: seen.append((done, total, text)))
    bridge.run(lambda: [job.report(i, 2, "file") for i in (1, 2)], None, None, owner, name="counts", job=job)
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert seen[-1] == (2, 2, "file")
    job.cancel()
    job.report(3, 3)
    qtbot.wait(1)
    assert len(seen) == 2


def test_news_of_a_run_come_as_signals(qtbot) -> None:
    relay = bridge.Relay()
    with qtbot.waitSignal(relay.stateChanged) as caught:
        thread = threading.Thread(target=relay.on_state, args=("run", "ready", None))
        thread.start()
        thread.join()
    assert caught.args == ["run", "ready", None]
