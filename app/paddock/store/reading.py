"""Questions to the database, each on a connection that the caller gives."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Sequence
from typing import Any

import psutil

from paddock.errors import AppError
from paddock.session.model import Event, Request
from paddock.session.series import Series
from paddock.store.planform import read_plan
from paddock.store.rows import ENDED, INTERRUPTED, SessionDetail, SessionRow, process_started
from paddock.text import Text

_ROW = """
SELECT s.*, (SELECT count(*) FROM request r WHERE r.session_id = s.id AND NOT r.is_child) AS requests,
       (SELECT coalesce(sum(r.generated_tokens), 0) FROM request r WHERE r.session_id = s.id) AS generated_tokens
FROM session s
"""
_SEARCHED = ("model", "engine", "profile", "label", "note", "state", "id", "model_identity")
_PHASES = {"idle": 0.0, "prompt": 1.0, "generating": 2.0}


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
        exit_code=row["exit_code"], reason=row["reason"])


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


def events(connection: sqlite3.Connection, session_id: int) -> tuple[Event, ...]:
    rows = connection.execute(
        "SELECT t, kind, text, data FROM event WHERE session_id = ? ORDER BY t, id", (session_id,))
    return tuple(Event(r["t"], r["kind"], r["text"], _json(r["data"]) or {}) for r in rows)


def series(connection: sqlite3.Connection, session_id: int) -> Series:
    """Machine columns hold their value between readings (about a second); a longer silence is a gap."""
    count = connection.execute("SELECT count(*) FROM system_sample WHERE session_id = ?", (session_id,)).fetchone()[0]
    out = Series(max(count, 1))
    cards = _by_time(connection, "device_sample", "device", session_id)
    slots = _by_time(connection, "slot_sample", "slot", session_id)
    held: dict[str, float] = {}
    held_slots: dict[str, float] = {}
    held_t = -math.inf
    rows = connection.execute("SELECT * FROM system_sample WHERE session_id = ? ORDER BY t", (session_id,))
    names = [d[0] for d in rows.description if d[0] not in ("session_id", "t", "answered", "sleeping")]
    machine = [n for n in names if n.endswith(("_bytes", "_pct"))]
    for row in rows:
        t = row["t"]
        values = {n: _float(row[n]) for n in names if n not in machine}
        if row["ram_used_bytes"] is not None or t in cards:
            held = {n: _float(row[n]) for n in machine} | cards.get(t, {})
            held_t = t
        if t - held_t <= 2.5:
            values |= held
        held_slots |= slots.get(t, {})
        if row["answered"] and not row["sleeping"]:
            values |= held_slots
        out.append(t, values)
    for r in requests(connection, session_id):
        if r.prompt_per_s is not None and r.t_first_token is not None:
            out.fill("prompt_per_s", r.t_start, r.t_first_token, r.prompt_per_s)
    return out


def _by_time(connection: sqlite3.Connection, table: str, key: str, session_id: int) -> dict[float, dict[str, float]]:
    rows = connection.execute(f"SELECT * FROM {table} WHERE session_id = ? ORDER BY t", (session_id,))
    out: dict[float, dict[str, float]] = {}
    columns = [d[0] for d in rows.description if d[0] not in ("session_id", "t", key, "throttle")]
    for row in rows:
        head = f"slot.{row[key]}." if key == "slot" else f"{row[key]}."
        at = out.setdefault(row["t"], {})
        for name in columns:
            at[head + name] = _PHASES.get(row[name], math.nan) if name == "phase" else _float(row[name])
    return out


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def query(connection: sqlite3.Connection, sql: str, params: Sequence[Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    # ATTACH could reach other files, even make them, past the read-only open.
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)
        else sqlite3.SQLITE_OK)
    try:
        cursor = connection.execute(sql, params)
        names = [d[0] for d in cursor.description or ()]
        return names, [tuple(row) for row in cursor.fetchall()]
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise AppError(Text("SQLite refused this."), why=str(error),
                       hint=Text("The database is open for reading only; one statement at a time.")) from error


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
    return gone


def _alive(pid: int | None, started: float | None) -> bool:
    if pid is None or not psutil.pid_exists(pid):
        return False
    now = process_started(pid)
    # A pid is used again by others: only the start time tells them apart.
    return now is not None and (started is None or abs(now - started) < 2.0)
