"""How long sessions are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.store import Database, SessionStart
from paddock.work import Workspace


@pytest.mark.parametrize(("days", "left"), [(0, 3), (30, 2)])
def test_sessions_older_than_the_person_keeps_are_deleted_at_the_start(tmp_path: Path, days: int, left: int) -> None:
    """0 keeps them for ever; one that runs is never touched."""
    workspace = Workspace(tmp_path)
    with Database(workspace.paths.database, commit_s=0.05) as database:
        old, new, _running = (database.start_session(SessionStart(("llama-server",))) for _ in range(3))
        database.finish_session(old, "stopped")
        database.finish_session(new, "stopped")
        database.write(lambda c: c.execute("UPDATE session SET end_utc = '2020-01-01T00:00:00+00:00' WHERE id = ?",
                                           (old,)))
    workspace.settings.keep_sessions_days = days
    try:
        assert len(workspace.sessions()) == left
    finally:
        workspace.close()
