"""Widgets that are garbage die in the GUI thread, never in a worker: there their death can hang the window."""

from __future__ import annotations

import gc
import threading
import weakref

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from paddock.desktop import bridge


class Knot(QWidget):
    """A widget in a circle, which only the collector can end."""

    def __init__(self) -> None:
        super().__init__()
        self.self = self


def churn() -> str:
    """Allocates far more than it takes for the collector to run."""
    kept = [[] for _ in range(200_000)]
    return f"{threading.current_thread().name} {len(kept)}"


def test_a_worker_that_allocates_collects_no_widget(qtbot) -> None:
    gc.collect()
    died: list[str] = []
    for _ in range(20):
        weakref.finalize(Knot(), lambda: died.append(threading.current_thread().name))
    owner, done = QObject(), []
    bridge.run(churn, done.append, None, owner, name="churn")
    assert not gc.isenabled()
    qtbot.waitUntil(lambda: bool(done), timeout=20_000)
    gc.collect()  # what the timer has not yet taken
    assert died == 20 * [threading.main_thread().name]


def test_the_timer_collects_what_has_gathered(qtbot) -> None:
    owner, done = QObject(), []
    bridge.run(lambda: 1, done.append, None, owner, name="one")
    knot = weakref.ref(Knot())
    kept = [[] for _ in range(5_000)]
    qtbot.waitUntil(lambda: knot() is None, timeout=20_000)
    assert len(kept) == 5_000


def test_after_the_workers_have_ended_the_collector_is_on_again(qtbot) -> None:
    owner, done = QObject(), []
    bridge.run(lambda: 1, done.append, None, owner, name="one")
    qtbot.waitUntil(lambda: bool(done), timeout=20_000)
    assert not gc.isenabled()
    bridge.shutdown()
    assert gc.isenabled()
