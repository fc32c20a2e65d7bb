"""One session in a file of its own, to be opened in another Paddock: a database with that session's rows alone."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from paddock.errors import AppError
from paddock.store.database import Database
from paddock.store.schema import connect, connect_read_only, open_database
from paddock.text import Text

SUFFIX = ".paddock"
_MAGIC = b"SQLite format 3\0"
_LEFT_OUT = ("exchange_text", "ledger")
"""Prompts and answers stay where they were recorded. The ledger corrects estimates: of that machine, not of this."""


def export_session(database: Path, session_id: int, to: Path) -> None:
    """Write the session's rows to a file, whole or not at all; an existing file is replaced.

    AppError: no such session, or the file cannot be written.
    """
    try:
        with tempfile.TemporaryDirectory(dir=to.absolute().parent, prefix=".paddock-") as folder:
            made = Path(folder) / "session.db"
            open_database(made, []).close()
            with closing(connect(made)) as out, closing(connect_read_only(database)) as source:
                source.row_factory = None
                out.execute("BEGIN")
                for table in _tables(out):
                    _copy(source, out, table, session_id, session_id)
                out.execute("COMMIT")
                if out.execute("SELECT count(*) FROM session").fetchone()[0] == 0:
                    raise AppError(Text("There is no session {id}.", id=session_id),
                                   hint=Text("`paddock sessions list` shows them all."))
                out.execute("PRAGMA journal_mode = DELETE")
                out.execute("VACUUM")
            made.replace(to)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise AppError(Text("The session could not be written to {path}.", path=str(to)), why=why or str(error),
                       hint=Text("Check free space and permissions of that folder.")) from error


def import_sessions(database: Database, file: Path) -> list[int]:
    """Take over the sessions of such a file; returns their new ids.

    One that is here already is not taken over again: its id is that one's. They keep their facts, but not the model's
    identity: figures of another machine are no measure of this one. AppError where the file is none of ours, damaged,
    or of a newer Paddock.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "session.db"
        _take_copy(file, copy)
        with closing(open_database(copy, [])) as source:
            try:
                ids = [int(row[0]) for row in source.execute("SELECT id FROM session ORDER BY id").fetchall()]
            except sqlite3.Error as error:
                raise _not_ours(file, str(error)) from error
            if not ids:
                raise _not_ours(file, None)
            made: list[int] = database.write(lambda c: [_take_over(source, c, one) for one in ids])
            return made


def _take_copy(file: Path, copy: Path) -> None:
    """The file as it is may be of an older form, and is not to be changed."""
    try:
        with file.open("rb") as start:
            if start.read(len(_MAGIC)) != _MAGIC:
                raise _not_ours(file, None)
        shutil.copyfile(file, copy)
        with closing(sqlite3.connect(copy)) as look:
            if look.execute("PRAGMA quick_check").fetchone()[0] != "ok" or "session" not in _tables(look):
                raise _not_ours(file, None)
    except sqlite3.Error as error:
        raise _not_ours(file, str(error)) from error
    except OSError as error:
        raise AppError(Text("“{name}” cannot be read.", name=file.name), why=error.strerror) from error


def _not_ours(file: Path, why: str | None) -> AppError:
    return AppError(Text("“{name}” holds no session of Paddock, or is damaged.", name=file.name), why=why,
                    hint=Text("`paddock sessions export ID -o FILE.paddock` writes one."))


def _take_over(source: sqlite3.Connection, to: sqlite3.Connection, session_id: int) -> int:
    names, row = _session_row(source, to, session_id)
    values = dict(zip(names, row, strict=True)) | {"owner_pid": None, "owner_started": None, "model_identity": None}
    if values.get("end_utc") is None:
        values |= {"end_utc": values["start_utc"], "state": "interrupted"}
    here = _already_here(source, to, session_id, values)
    if here is not None:
        return here
    sql = f"INSERT INTO session ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
    made = int(to.execute(sql, tuple(values.values())).lastrowid or 0)
    for table in _tables(to):
        if table != "session":
            _copy(source, to, table, session_id, made)
    return made


def _already_here(source: sqlite3.Connection, to: sqlite3.Connection, session_id: int,
                  values: Mapping[str, object]) -> int | None:
    """The same session, taken over before or recorded here: began and ended at the same moments with the same command,
    and with as many requests and samples."""
    same = to.execute("SELECT id FROM session WHERE start_utc IS ? AND end_utc IS ? AND command IS ?",
                      tuple(values.get(name) for name in ("start_utc", "end_utc", "command")))
    theirs = _row_counts(source, session_id)
    return next((int(row[0]) for row in same.fetchall() if _row_counts(to, row[0]) == theirs), None)


def _row_counts(connection: sqlite3.Connection, session_id: int) -> list[int]:
    return [connection.execute(f"SELECT count(*) FROM {table} WHERE session_id = ?", (session_id,)).fetchone()[0]
            for table in ("request", "system_sample")]


def _session_row(source: sqlite3.Connection, to: sqlite3.Connection,
                 session_id: int) -> tuple[list[str], tuple[object, ...]]:
    names = [name for name in _columns(source, "session") if name != "id" and name in _columns(to, "session")]
    row = source.execute(f"SELECT {', '.join(names)} FROM session WHERE id = ?", (session_id,)).fetchone()
    return names, row


def _tables(connection: sqlite3.Connection) -> list[str]:
    """`session`, then all tables with rows of a session, but those left out; parents before children."""
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
    return [name for name in names if name not in _LEFT_OUT
            and (name == "session" or "session_id" in _columns(connection, name))]


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _copy(source: sqlite3.Connection, to: sqlite3.Connection, table: str, old: int, new: int) -> None:
    """The rows of one session; a number that the table gives itself is given anew."""
    key = "id" if table == "session" else "session_id"
    if key not in _columns(source, table):
        return  # an older form has not got this table
    info = to.execute(f"PRAGMA table_info({table})").fetchall()
    keys = [row[1] for row in info if row[5]]
    own_number = table != "session" and keys == ["id"]
    names = [row[1] for row in info if row[1] in _columns(source, table) and not (own_number and row[1] == "id")]
    at = names.index(key)
    rows = source.execute(f"SELECT {', '.join(names)} FROM {table} WHERE {key} = ?", (old,)).fetchall()
    to.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
                   [(*row[:at], new, *row[at + 1:]) for row in rows])
