"""Opening the database file: pragmas, numbered migrations, a copy before every migration."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path

from paddock.errors import AppError
from paddock.store.files import set_aside, stamp
from paddock.text import Text

BUSY_S = 15.0


def migrations() -> list[tuple[int, str]]:
    """(number, SQL) of the shipped files, in order."""
    folder = resources.files("paddock.store") / "migrations"
    files = sorted((f.name, f.read_text("utf-8")) for f in folder.iterdir() if f.name.endswith(".sql"))
    return [(int(name.split("_")[0]), text) for name, text in files]


def statements(script: str) -> Iterator[str]:
    """The single statements of a script (executescript would end our transaction)."""
    part = ""
    for line in script.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            yield part
            part = ""


def connect(path: Path) -> sqlite3.Connection:
    """A writing connection: WAL, foreign keys, waits for other writers."""
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Reads only, whatever is asked of it."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_S,
                                 isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA query_only = ON")
    connection.row_factory = sqlite3.Row
    return connection


def open_database(path: Path, notices: list[Text]) -> sqlite3.Connection:
    """Open, or make, and bring to the newest form. A file that is no database is set aside and said so.

    AppError: the folder cannot be written, or a newer Paddock made the file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _open(path)
    except sqlite3.OperationalError as error:
        raise _cannot_open(path, str(error)) from error
    except OSError as error:
        raise _cannot_open(path, error.strerror or str(error)) from error
    except sqlite3.DatabaseError as error:
        try:
            aside = set_aside(path)
            for ending in ("-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
        except OSError as failed:
            raise _cannot_open(path, str(error)) from failed
        notices.append(Text("The database was damaged ({why}). It is kept as “{aside}”; a new one was begun.",
                            why=error, aside=aside.name))
        return _open(path)


def _cannot_open(path: Path, why: str) -> AppError:
    return AppError(Text("The database “{path}” could not be opened.", path=path), why=why,
                    hint=Text("Check free space and permissions, or choose another folder with --data-dir."))


def _open(path: Path) -> sqlite3.Connection:
    connection = connect(path)
    try:
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    steps = migrations()
    newest = steps[-1][0]
    version = _version(connection)
    if version > newest:
        raise AppError(Text("The database “{path}” was made by a newer Paddock (form {theirs}, this one knows {ours}).",
                            path=path, theirs=version, ours=newest),
                       hint=Text("Update Paddock, or choose another folder with --data-dir."))
    if 0 < version < newest:
        _copy(connection, path.with_name(f"{path.name}.v{version}-{stamp()}.bak"))
    for number, script in steps:
        if number <= version:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another Paddock may have done it while we waited for the lock.
            if _version(connection) < number:
                for statement in statements(script):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _copy(connection: sqlite3.Connection, to: Path) -> None:
    with closing(sqlite3.connect(to)) as copy:
        connection.backup(copy)
