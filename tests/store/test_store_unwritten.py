"""Rows that cannot be stored: one of them never stops the rest, and failing is said when it begins and when it ends."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from paddock.errors import AppError
from paddock.session.proxy import Exchange
from paddock.store import Database, SessionStart, schema

START = SessionStart(command=("llama-server",))


@pytest.mark.parametrize("odd", [{"finish": {"a": 1}}, {"slot": [1]}, {"prompt_tokens": 2**80},
                                 {"client": b"\xff", "id": {}}])
def test_a_figure_of_another_kind_stops_nothing(tmp_path: Path, odd: dict[str, Any]) -> None:
    with Database(tmp_path / "paddock.db") as database:
        number = database.start_session(START)
        database.exchange(number, Exchange(**{"id": 1, "start_utc": "", "method": "POST", "path": "/x", "client": "",
                                              **odd}))
        database.exchange(number, Exchange(2, "", "POST", "/x", "\ud83d", settings={"reasoning_effort": "\ud83d"}))
        database.flush()
        assert [e.id for e in database.session(number).exchanges] == [2]
        assert database.dropped == 1


def test_failing_is_said_once_and_so_is_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_S", 0.05)
    said: list[AppError | None] = []
    with Database(tmp_path / "paddock.db", commit_s=0.02) as database:
        database.on_problem = said.append
        other = sqlite3.connect(database.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            with pytest.raises(AppError, match="could not be written"):
                database.flush()
        other.execute("COMMIT")
        other.close()
        database.flush()
        database.flush()
    assert [problem is None for problem in said] == [False, True]
