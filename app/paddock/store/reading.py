"""Questions to the database, each on a connection that the caller gives."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from paddock.errors import AppError
from paddock.launch.effective import effective
from paddock.session.batching import texts_per_s
from paddock.session.model import Event, Request
from paddock.session.proxy import Exchange
from paddock.session.series import Series
from paddock.store.functions import add_functions, hint_for
from paddock.store.planform import read_plan
from paddock.store.rows import ENDED, INTERRUPTED, SessionDetail, SessionRow, process_started
from paddock.text import Text

_ROW = """
SELECT s.*, (SELECT count(*) FROM request r WHERE r.session_id = s.id AND NOT r.is_child) AS requests,
       (SELECT coalesce(sum(r.generated_tokens), 0) FROM request r WHERE r.session_id = s.id) AS generated_tokens
FROM session s
"""
_SEARCHED = ("model", "engine", "profile", "label", "note", "tags", "state", "id", "model_identity")
_PHASE = "CASE phase WHEN 'idle' THEN 0 WHEN 'prompt' THEN 1 ELSE 2 END"
if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def sessions(connection: sqlite3.Connection, limit: int | None, search: str) -> list[SessionRow]:
    where, values = [], []
    for word in search.split():
        where.append("(" + " OR ".join(f"s.{column} LIKE ? ESCAPE '\\'" for column in _SEARCHED) + ")")
        escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        values += [f"%{escaped}%"] * len(_SEARCHED)
    sql = _ROW + (f"WHERE {' AND '.join(where)} " if where else "") + "ORDER BY s.start_utc DESC, s.id DESC LIMIT ?"
    rows = connection.execute(sql, (*values, -1 if limit is None else limit))
    return [_session_row(row) for row in rows]


def _session_row(row: sqlite3.Row) -> SessionRow:
    return SessionRow(
        id=row["id"], start=row["start_utc"], end=row["end_utc"], state=row["state"], model=row["model"],
        engine=row["engine"], requests=row["requests"], generated_tokens=row["generated_tokens"],
        profile=row["profile"], model_identity=row["model_identity"], label=row["label"], note=row["note"],
        exit_code=row["exit_code"], reason=row["reason"], tags=tuple(_json(row["tags"]) or ()))


def session(connection: sqlite3.Connection, session_id: int) -> SessionDetail:
    row = connection.execute(_ROW + "WHERE s.id = ?", (session_id,)).fetchone()
    if row is None:
        raise AppError(Text("There is no session {id}.", id=session_id),
                       hint=Text("`paddock sessions list` shows them all."))
    excerpt = connection.execute("SELECT text FROM log_excerpt WHERE session_id = ?", (session_id,)).fetchone()
    plan = _json(row["plan"])
    return SessionDetail(
        row=_session_row(row), command=tuple(_json(row["command"]) or ()), environment=_json(row["environment"]) or {},
        model_facts=_json(row["model_facts"]), engine_facts=_json(row["engine_facts"]),
        plan=read_plan(plan) if plan is not None else None, machine=_json(row["machine"]),
        estimate=_json(row["estimate"]), actual=_json(row["actual"]), requests=requests(connection, session_id),
        exchanges=exchanges(connection, session_id),
        events=events(connection, session_id), log_excerpt=excerpt["text"] if excerpt else None)


def _json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def requests(connection: sqlite3.Connection, session_id: int) -> tuple[Request, ...]:
    rows = connection.execute("SELECT * FROM request WHERE session_id = ? ORDER BY number", (session_id,))
    names = [d[0] for d in rows.description]
    out = []
    for row in rows:
        values = dict(zip(names, row, strict=True))
        del values["session_id"]
        values["truncated"], values["is_child"] = bool(values["truncated"]), bool(values["is_child"])
        out.append(Request(**values))
    return tuple(out)


def exchanges(connection: sqlite3.Connection, session_id: int) -> tuple[Exchange, ...]:
    rows = connection.execute("SELECT e.*, t.request AS request_text, t.response AS response_text FROM exchange e "
                              "LEFT JOIN exchange_text t ON t.session_id = e.session_id AND t.id = e.id "
                              "WHERE e.session_id = ? ORDER BY e.id", (session_id,))
    out = []
    for row in rows:
        values: dict[str, Any] = {f.name: row[f.name] for f in fields(Exchange) if f.name != "arrived"}
        values["settings"] = _json(row["settings"]) or {}
        out.append(Exchange(**values))
    return tuple(out)


def events(connection: sqlite3.Connection, session_id: int) -> tuple[Event, ...]:
    rows = connection.execute(
        "SELECT t, kind, text, data FROM event WHERE session_id = ? ORDER BY t, id", (session_id,))
    return tuple(Event(r["t"], r["kind"], r["text"], _json(r["data"]) or {}) for r in rows)


_MACHINE = ("run_queue", "process_faults_per_s", "model_cached")
HELD_S = 2.5
"""A reading holds until the next, about a second later; after this long a silence is a gap."""


def series(connection: sqlite3.Connection, session_id: int) -> Series:
    names, polled = _table(connection, "system_sample", session_id, "1")
    polled_t = polled[:, names.index("t")]
    t = _moments(connection, session_id, polled_t)
    table = polled if t is polled_t else _carried(t, polled_t, polled)
    columns: dict[str, Floats] = {}
    machine = [n for n in names if n.endswith(("_bytes", "_pct", "_bytes_per_s")) or n in _MACHINE]
    for name in names:
        if name not in (*machine, "t", "answered", "sleeping"):
            columns[name] = table[:, names.index(name)]
    told = ~np.isnan(polled[:, [names.index(n) for n in machine]]).all(axis=1)
    for name in machine:
        columns[name] = _held(t, polled_t[told], polled[told, names.index(name)], HELD_S)
    devices = connection.execute("SELECT DISTINCT device FROM device_sample WHERE session_id = ?", (session_id,))
    for (device,) in devices.fetchall():
        of, rows = _table(connection, "device_sample", session_id, "device = ?", device)
        for i, name in enumerate(of):
            if name != "t":
                columns[f"{device}.{name}"] = _held(t, rows[:, of.index("t")], rows[:, i], HELD_S)
    awake = (table[:, names.index("answered")] > 0) & (table[:, names.index("sleeping")] == 0)
    slots = connection.execute("SELECT DISTINCT slot FROM slot_sample WHERE session_id = ?", (session_id,))
    for (slot,) in slots.fetchall():
        of, rows = _table(connection, "slot_sample", session_id, "slot = ?", slot)
        for i, name in enumerate(of):
            if name != "t":
                held = _held(t, rows[:, of.index("t")], rows[:, i], np.inf)
                columns[f"slot.{slot}.{name}"] = np.where(awake, held, np.nan)
    of_session = requests(connection, session_id)
    if _answers_texts(connection, session_id):
        ended = np.array([r.t_end for r in of_session if r.t_end is not None], np.float64)
        columns["requests_per_s"] = texts_per_s(t, ended, table[:, names.index("answered")] > 0)
    out = Series.of(t, columns)
    for r in of_session:
        if r.prompt_per_s is not None and r.t_first_token is not None:
            out.fill("prompt_per_s", r.t_start, r.t_first_token, r.prompt_per_s)
    return out


def _moments(connection: sqlite3.Connection, session_id: int, polled: Floats) -> Floats:
    """The time axis: when the server was polled, and when its cards were read besides (a close look that was kept)."""
    rows = connection.execute("SELECT DISTINCT t FROM device_sample WHERE session_id = ?", (session_id,)).fetchall()
    more = np.setdiff1d(np.array([row[0] for row in rows], np.float64), polled)
    return np.union1d(polled, more) if len(more) and len(polled) else polled


def _carried(t: Floats, at: Floats, rows: Floats) -> Floats:
    """For every t the newest of `rows` ([moments, columns], taken at `at`) not older than `HELD_S`, else NaN."""
    newest = np.searchsorted(at, t, "right") - 1
    known = (newest >= 0) & (t - at[newest] <= HELD_S)
    return np.where(known[:, None], rows[newest], np.nan)


def _answers_texts(connection: sqlite3.Connection, session_id: int) -> bool:
    row = connection.execute("SELECT plan FROM session WHERE id = ?", (session_id,)).fetchone()
    plan = _json(row["plan"]) if row is not None else None
    return plan is not None and effective(read_plan(plan)).embedding


def _table(
    connection: sqlite3.Connection, table: str, session_id: int, where: str, *values: Any
) -> tuple[list[str], Floats]:
    """The figures of a table: column names, and [rows, columns] by time; what is no figure is left out."""
    left_out = {"session_id", "device", "slot", "throttle"}
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] not in left_out]
    asked = ", ".join(_PHASE if name == "phase" else name for name in names)
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(
        f"SELECT {asked} FROM {table} WHERE session_id = ? AND {where} ORDER BY t", (session_id, *values)).fetchall()
    return names, np.array(rows, np.float64).reshape(len(rows), len(names))


def _held(t: Floats, at: Floats, values: Floats, seconds: float) -> Floats:
    """For every t the newest of `values` that is not older than `seconds`, else NaN."""
    if not len(at):
        return np.full(len(t), np.nan)
    newest = np.searchsorted(at, t, "right") - 1
    known = (newest >= 0) & (t - at[newest] <= seconds)
    return np.where(known, values[newest], np.nan)


_STEPS = 1_000_000
"""Between two looks, in SQLite's own instructions: a few hundredths of a second."""


def query(connection: sqlite3.Connection, sql: str, params: Sequence[Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    # ATTACH could reach other files, even make them, past the read-only open.
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)
        else sqlite3.SQLITE_OK)
    add_functions(connection)
    # SQLite never ends an endless query by itself, and Python hears Ctrl-C only where it runs code of its own.
    connection.set_progress_handler(lambda: 0, _STEPS)
    try:
        cursor = connection.execute(sql, params)
        names = [d[0] for d in cursor.description or ()]
        return names, [tuple(row) for row in cursor.fetchall()]
    except (sqlite3.Error, sqlite3.Warning) as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from error
        usual = Text("The database is open for reading only; one statement at a time.")
        raise AppError(Text("SQLite refused this."), why=str(error), hint=hint_for(error) or usual) from error


def mark_interrupted(connection: sqlite3.Connection) -> list[int]:
    """In a write transaction. A session whose owner lives (same pid, same start) is left alone."""
    marks = ", ".join("?" * len(ENDED))
    rows = connection.execute(
        f"SELECT id, owner_pid, owner_started FROM session WHERE end_utc IS NULL AND state NOT IN ({marks})",
        ENDED).fetchall()
    gone = [row[0] for row in rows if not _alive(row[1], row[2])]
    for session_id in gone:
        connection.execute(
            "UPDATE session SET state = ?, end_utc = (SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', start_utc, "
            "printf('+%f seconds', coalesce((SELECT max(t) FROM system_sample WHERE session_id = session.id), 0)))) "
            "WHERE id = ?", (INTERRUPTED, session_id))
        connection.execute("UPDATE request SET status = 'failed' WHERE session_id = ? AND status = 'active'",
                           (session_id,))
    open_ones = "SELECT id, owner_pid, owner_started FROM experiment WHERE end_utc IS NULL"
    for row in connection.execute(open_ones).fetchall():
        if not _alive(row[1], row[2]):
            connection.execute("UPDATE experiment SET state = ?, end_utc = start_utc WHERE id = ?",
                               (INTERRUPTED, row[0]))
    return gone


def _alive(pid: int | None, started: float | None) -> bool:
    if pid is None or not psutil.pid_exists(pid):
        return False
    now = process_started(pid)
    # A pid is used again by others: only the start time tells them apart.
    return now is not None and (started is None or abs(now - started) < 2.0)
