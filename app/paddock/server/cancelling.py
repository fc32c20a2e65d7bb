"""Ending a stream that gives nothing at the moment: somebody has to look besides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def cancelling(cancel: Callable[[], None], cancelled: Callable[[], bool]) -> Iterator[None]:
    """Cancel within a tenth of a second, also while nothing comes (a long prompt)."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            if cancelled():
                cancel()
                return

    thread = threading.Thread(target=watch, name="prompt-cancel", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
