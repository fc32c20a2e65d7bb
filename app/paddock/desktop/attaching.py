"""Watching a server that somebody else started, from the window."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.desktop import bridge
from paddock.errors import AppError
from paddock.store import resolve_secret
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.work.watching import Watched


@dataclass(frozen=True)
class Where:
    """What the person gave. `key`: a key or a reference (env:NAME, file:PATH, keyring:NAME)."""

    url: str
    key: str = ""
    record: bool = True
    insecure: bool = False


def attach(desk: Desk, where: Where, failed: Callable[[AppError], None], done: Callable[[], None]) -> bridge.Job:
    """Ask the server and begin watching it; then it is the chosen run. A cancelled job leaves nothing behind."""
    job = bridge.Job("attach")

    def work() -> Watched:
        secret = resolve_secret(where.key, os.environ) if where.key else None
        if where.key and secret is None:
            raise AppError(Text("The key behind “{reference}” cannot be found.", reference=where.key))
        watched = desk.workspace.watch(where.url, secret, where.record, insecure=where.insecure, listener=desk.relay)
        if job.cancelled():
            watched.close()
        return watched

    def watching(watched: Watched) -> None:
        done()
        desk.take_run(watched)

    return bridge.run(work, watching, failed, desk, name="attach", job=job)
