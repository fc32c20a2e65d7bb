"""Rows of the ledger: what was estimated for a launch and what it took, per device, role and term."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from paddock.store.database import Database
from paddock.store.schema import connect_read_only


@dataclass(frozen=True)
class LedgerKey:
    """Whose launches: a model's identity, an engine's path and version."""

    model_identity: str
    engine: str
    engine_version: str


@dataclass(frozen=True)
class LedgerRow:
    """One term of one launch, bytes. `term`: model, context, compute, overhead (of the main role only).

    `estimated` with `low` and `high` is the estimate before any correction, `shown` what the person was told.
    `kind`: the device's backend, "host" for Host.
    """

    device: str
    kind: str
    role: str
    term: str
    estimated: int
    low: int
    high: int
    shown: int
    actual: int
    forgotten: bool = False


_COLUMNS = tuple(f.name for f in fields(LedgerRow))
_ALL = ("session_id", "model_identity", "engine", "engine_version", "backends", *_COLUMNS)
_INSERT = f"INSERT OR REPLACE INTO ledger ({', '.join(_ALL)}) VALUES ({', '.join('?' * len(_ALL))})"
_OF_KEY = "model_identity = ? AND engine = ? AND engine_version = ?"


def write(database: Database, session_id: int, key: LedgerKey, backends: str, rows: Sequence[LedgerRow]) -> None:
    """Queue the rows of a launch; returns at once. Rows that are there already are replaced."""
    values = [(session_id, *astuple(key), backends, *astuple(row)) for row in rows]
    database.later(lambda c: c.executemany(_INSERT, values))


def read(path: Path, key: LedgerKey, backends: str | None = None, launches: int = 5) -> list[list[LedgerRow]]:
    """The newest launches, the newest first; empty where nothing was recorded. Makes no database that is not there.

    `backends`: only launches that used exactly these ("cuda", "cuda+rpc", "host").
    """
    more = "" if backends is None else " AND backends = ?"
    values = (*astuple(key), *(() if backends is None else (backends,)))
    newest = f"SELECT DISTINCT session_id FROM ledger WHERE {_OF_KEY}{more} ORDER BY session_id DESC LIMIT ?"
    sql = (f"SELECT session_id, {', '.join(_COLUMNS)} FROM ledger WHERE session_id IN ({newest}) "
           "ORDER BY session_id DESC, device, role, term")
    if not path.exists():
        return []
    found: dict[int, list[LedgerRow]] = {}
    try:
        with closing(connect_read_only(path)) as connection:
            for row in connection.execute(sql, (*values, launches)):
                figures = {name: row[name] for name in _COLUMNS}
                found.setdefault(row["session_id"], []).append(
                    LedgerRow(**figures | {"forgotten": bool(figures["forgotten"])}))
    except sqlite3.Error:
        return []  # made by an older Paddock and not yet brought to this form, or not readable: nothing is known
    return list(found.values())


def forget(database: Database, key: LedgerKey | None = None, kind: str | None = None) -> int:
    """No correction comes from what was recorded so far (all of it, one model's, or one backend's); how many rows.

    The rows stay: how good the estimates were is not forgotten.
    """
    where, values = ["forgotten = 0"], []
    if key is not None:
        where.append(_OF_KEY)
        values += list(astuple(key))
    if kind is not None:
        where.append("kind = ?")
        values.append(kind)
    sql = f"UPDATE ledger SET forgotten = 1 WHERE {' AND '.join(where)}"
    return int(database.write(lambda c: c.execute(sql, values).rowcount))
