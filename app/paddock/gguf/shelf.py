"""Bytes under a key, kept in one SQLite file that several processes and threads may use at once.

One file, because making a thousand small ones costs more time than reading a thousand headers. Nothing here is worth an
error: what cannot be kept is not kept, and a damaged file is thrown away and begun anew. Nor is it worth a wait for the
disk: a power failure may damage the file, which its own check or a row's sum then shows.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

_BUSY_S, _AGAIN_S = 1.0, 0.01
_MADE = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF",
         "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, written REAL, sum INTEGER, data BLOB)")


class Shelf:
    """`file` and its folder are made when the first thing is kept."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, key: str) -> bytes | None:
        """What was kept last, whole, or None."""
        row = None
        with self._open(make=False) as base:
            row = base.execute("SELECT sum, data FROM kept WHERE key = ?", (key,)).fetchone() if base else None
        return row[1] if row is not None and isinstance(row[1], bytes) and zlib.crc32(row[1]) == row[0] else None

    def put(self, key: str, data: bytes, written_s: float | None = None) -> None:
        """`written_s`: UTC, now unless given."""
        with self._open(make=True) as base:
            if base:
                base.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)",
                             (key, time.time() if written_s is None else written_s, zlib.crc32(data), data))

    def written(self) -> list[tuple[str, float]]:
        """Keys and when each was kept, the newest first."""
        with self._open(make=False) as base:
            return base.execute("SELECT key, written FROM kept ORDER BY written DESC").fetchall() if base else []
        return []

    def remove(self, keys: Iterable[str]) -> int:
        """Returns how many were there."""
        names = [(key,) for key in keys]
        with self._open(make=False) as base:
            if base:
                base.execute("BEGIN IMMEDIATE")
                gone = base.executemany("DELETE FROM kept WHERE key = ?", names).rowcount
                base.execute("COMMIT")
                return gone
        return 0

    def close(self) -> None:
        """Until it is used again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _open(self, make: bool) -> _Use:
        return _Use(self, make)

    def _connected(self, make: bool) -> sqlite3.Connection | None:
        if self._connection is not None:
            return self._connection
        if not make and not self.file.exists():
            return None
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        self._connection = sqlite3.connect(self.file, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        _make(self._connection)
        return self._connection

    def _throw_away(self) -> None:
        for ending in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.file.with_name(self.file.name + ending).unlink()


def _make(connection: sqlite3.Connection) -> None:
    """Two that make the file at once: SQLite refuses the one that comes second at once, whatever its timeout."""
    end = time.monotonic() + _BUSY_S
    while True:
        try:
            for statement in _MADE:
                connection.execute(statement)
            return
        except sqlite3.OperationalError:
            if time.monotonic() >= end:
                raise
            time.sleep(_AGAIN_S)


class _Use:
    """The connection, for one thread at a time; None where there is no file, or none can be made."""

    def __init__(self, shelf: Shelf, make: bool) -> None:
        self._shelf, self._make = shelf, make

    def __enter__(self) -> sqlite3.Connection | None:
        self._shelf._lock.acquire()
        try:
            return self._shelf._connected(self._make)
        except sqlite3.Error as error:
            self._failed(error)
            return None
        except BaseException:
            self._shelf._lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> bool:
        try:
            if isinstance(error, sqlite3.Error):
                self._failed(error)
            return isinstance(error, sqlite3.Error)
        finally:
            self._shelf._lock.release()

    def _failed(self, error: sqlite3.Error) -> None:
        self._shelf._close()
        # Busy, full, read-only, not to be opened: an OperationalError, and the file stays. All else is damage.
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            self._shelf._throw_away()
