# ruff: noqa: N815  (signals are named as Qt names them)
"""The one idiom for work that takes longer than a frame, and the way that other threads' news reach the window.

`run(function, done, failed, owner, name=…)`: the function runs in a worker thread and touches no widget; `done(result)`
or `failed(AppError)` is called in the GUI thread, unless the owner is gone or the job was cancelled by then.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import shiboken6
from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal, Slot

from paddock.desktop.collecting import Collector
from paddock.errors import AppError

T = TypeVar("T")
_WORKERS = 4


class Job(QObject):
    """One piece of work under way. `progress(done, total or None, text)` arrives in the GUI thread."""

    progress = Signal(int, object, str)
    ended = Signal()

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.name = name
        self._cancelled = threading.Event()
        self.running = False

    def cancel(self) -> None:
        """Ask the function to stop; its result is dropped either way."""
        self._cancelled.set()

    def cancelled(self) -> bool:
        """For the function itself, from any thread."""
        return self._cancelled.is_set()

    def report(self, done: int, total: int | None, text: str = "") -> None:
        """For the function itself, from any thread."""
        if not self.cancelled():
            self.progress.emit(done, total, text)


class _Bridge(QObject):
    """Lives in the GUI thread; owns the worker threads."""

    _finished = Signal(object)

    def __init__(self) -> None:
        super().__init__(QCoreApplication.instance())
        self._pool: ThreadPoolExecutor | None = None
        self._queue: ThreadPoolExecutor | None = None
        self._collector = Collector(self)
        # Queued in any case: a quick function may be done before its callback is attached, in the GUI thread itself.
        self._finished.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def submit(self, function: Callable[[], Any], done: Callable[[Any], object] | None,
               failed: Callable[[AppError], object] | None, owner: QObject, job: Job, in_order: bool) -> None:
        if in_order:
            pool = self._queue = self._queue or ThreadPoolExecutor(1, thread_name_prefix="paddock-desktop-files")
        else:
            pool = self._pool = self._pool or ThreadPoolExecutor(_WORKERS, thread_name_prefix="paddock-desktop")
        self._collector.start()
        job.running = True
        future = pool.submit(function)
        future.add_done_callback(lambda f: self._announce((f, done, failed, owner, job)))

    def _announce(self, package: object) -> None:
        if shiboken6.isValid(self):
            self._finished.emit(package)

    @Slot(object)
    def _deliver(self, package: tuple[Future[Any], Any, Any, QObject, Job]) -> None:
        future, done, failed, owner, job = package
        job.running = False
        if future.cancelled():
            return
        error = future.exception()
        if error is not None and not isinstance(error, AppError):
            sys.excepthook(type(error), error, error.__traceback__)
        if shiboken6.isValid(owner) and not job.cancelled():
            if error is None and done is not None:
                done(future.result())
            elif error is not None and failed is not None:
                failed(error if isinstance(error, AppError) else AppError(str(error) or type(error).__name__))
        if shiboken6.isValid(job):
            job.ended.emit()

    def close(self) -> None:
        pools, self._pool, self._queue = (self._pool, self._queue), None, None
        for pool in pools:
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=pool is pools[0])
        self._collector.stop()


_bridge: _Bridge | None = None


def run(function: Callable[[], T], done: Callable[[T], object] | None, failed: Callable[[AppError], object] | None,
        owner: QObject, *, name: str, job: Job | None = None, in_order: bool = False) -> Job:
    """Run the function off the GUI thread; see the module's docstring. Give a `job` for progress and cancelling.

    `in_order`: after all others that were given so; for what writes files.
    """
    global _bridge
    if _bridge is None or not shiboken6.isValid(_bridge):
        _bridge = _Bridge()
    job = job or Job(name)
    job.name = job.name or name
    _bridge.submit(function, done, failed, owner, job, in_order)
    return job


def shutdown() -> None:
    """Join the worker threads; work that has not begun is dropped, but what is to be written is."""
    if _bridge is not None and shiboken6.isValid(_bridge):
        _bridge.close()


class Relay(QObject):
    """A `work.RunListener` whose news arrive in the GUI thread as signals."""

    stateChanged = Signal(object, object, object)
    """run, State, Exit | None"""
    diagnosed = Signal(object, object)
    """run, Diagnosis"""

    def on_state(self, run: Any, state: Any, exit_: Any) -> None:
        """From the supervisor's thread."""
        if shiboken6.isValid(self):
            self.stateChanged.emit(run, state, exit_)

    def on_diagnosis(self, run: Any, diagnosis: Any) -> None:
        """From the supervisor's thread."""
        if shiboken6.isValid(self):
            self.diagnosed.emit(run, diagnosis)
