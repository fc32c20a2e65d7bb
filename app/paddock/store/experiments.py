"""Rows of benchmarks: an experiment, its runs. What settings and results mean is their own room's business."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from paddock.errors import AppError
from paddock.store.columns import to_json
from paddock.store.database import Database
from paddock.store.rows import now_utc, process_started
from paddock.store.schema import connect_read_only
from paddock.text import Text


@dataclass(frozen=True)
class ExperimentRow:
    """`state`: running, done, cancelled, failed, interrupted. `plan` and `summary` are plain values."""

    id: int
    start: str
    end: str | None
    kind: str
    name: str | None
    state: str
    model_identity: str | None
    plan: dict[str, Any] | None
    summary: dict[str, Any] | None
    runs: int


@dataclass(frozen=True)
class RunRow:
    """One run of an experiment, by `number`; `t` seconds since the experiment began."""

    number: int
    t: float | None
    settings: dict[str, Any] | None
    result: dict[str, Any] | None
    state: str


class Experiments:
    """The experiments of a `Database`, written through its writer thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(self, kind: str, name: str | None = None, *, model_identity: str | None = None,
              plan: Mapping[str, Any] | None = None) -> int:
        """Begin one; returns its id. Committed when this returns."""
        row = (now_utc(), kind, name, "running", model_identity, to_json(dict(plan) if plan is not None else None),
               os.getpid(), process_started(os.getpid()))
        sql = ("INSERT INTO experiment (start_utc, kind, name, state, model_identity, plan, owner_pid, owner_started) "
               "VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        return int(self._database.write(lambda c: c.execute(sql, row).lastrowid))

    def run(self, experiment_id: int, number: int, settings: Mapping[str, Any], result: Mapping[str, Any] | None,
            state: str, t: float | None = None) -> None:
        """Insert or replace a run. Committed when this returns: a later crash does not lose it."""
        row = (experiment_id, number, t, to_json(dict(settings)), to_json(dict(result) if result is not None else None),
               state)
        sql = ("INSERT INTO run (experiment_id, number, t, settings, result, state) VALUES (?, ?, ?, ?, ?, ?) "
               "ON CONFLICT (experiment_id, number) DO UPDATE SET t = excluded.t, settings = excluded.settings, "
               "result = excluded.result, state = excluded.state")
        self._database.write(lambda c: c.execute(sql, row))

    def finish(self, experiment_id: int, state: str, summary: Mapping[str, Any] | None = None) -> None:
        row = (now_utc(), state, to_json(dict(summary) if summary is not None else None), experiment_id)
        self._database.write(
            lambda c: c.execute("UPDATE experiment SET end_utc = ?, state = ?, summary = ? WHERE id = ?", row))

    def delete(self, experiment_id: int) -> None:
        self._database.write(lambda c: c.execute("DELETE FROM experiment WHERE id = ?", (experiment_id,)))

    def rows(self, kind: str | None = None, limit: int | None = None) -> list[ExperimentRow]:
        """Newest first."""
        with closing(connect_read_only(self._database.path)) as c:
            found = c.execute(_SELECT + "WHERE ? IS NULL OR e.kind = ? ORDER BY e.id DESC LIMIT ?",
                              (kind, kind, -1 if limit is None else limit))
            return [_row(row) for row in found]

    def experiment(self, experiment_id: int) -> tuple[ExperimentRow, list[RunRow]]:
        """AppError when there is none of that id."""
        with closing(connect_read_only(self._database.path)) as c:
            row = c.execute(_SELECT + "WHERE e.id = ?", (experiment_id,)).fetchone()
            if row is None:
                raise AppError(Text("There is no experiment {id}.", id=experiment_id))
            runs = c.execute("SELECT * FROM run WHERE experiment_id = ? ORDER BY number", (experiment_id,))
            return _row(row), [RunRow(r["number"], r["t"], _json(r["settings"]), _json(r["result"]), r["state"])
                               for r in runs]


_SELECT = "SELECT e.*, (SELECT count(*) FROM run r WHERE r.experiment_id = e.id) AS runs FROM experiment e "


def _row(row: sqlite3.Row) -> ExperimentRow:
    return ExperimentRow(row["id"], row["start_utc"], row["end_utc"], row["kind"], row["name"], row["state"],
                         row["model_identity"], _json(row["plan"]), _json(row["summary"]), row["runs"])


def _json(text: str | None) -> Any:
    return None if text is None else json.loads(text)
