"""How long sessions are kept: by age and by size, each on the writer's connection. Marked ones stay."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

MIB = 1 << 20
_OVER = "end_utc IS NOT NULL AND coalesce(note, '') = '' AND coalesce(tags, '[]') = '[]'"
"""A note or a tag says that the session is wanted; one that runs is not over."""


def purge(connection: sqlite3.Connection, days: int) -> int:
    """Delete sessions that ended more than `days` ago; returns how many."""
    sql = f"DELETE FROM session WHERE {_OVER} AND julianday(end_utc) < julianday('now') - ?"
    return connection.execute(sql, (days,)).rowcount


def purge_to(connection: sqlite3.Connection, mib: int) -> int:
    """Delete the oldest until the pages in use come to `mib` or less; returns how many. The last one stays."""
    gone = 0
    ids = [row[0] for row in connection.execute(f"SELECT id FROM session WHERE {_OVER} ORDER BY start_utc, id")]
    for session_id in ids[:-1]:
        if used_bytes(connection) <= mib * MIB:
            break
        connection.execute("DELETE FROM session WHERE id = ?", (session_id,))
        gone += 1
    return gone


def used_bytes(connection: sqlite3.Connection) -> int:
    """What the database holds; its file may be larger, pages that became free are used again."""
    pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0]
                         for name in ("page_count", "freelist_count", "page_size"))
    return int((pages - free) * size)


def tags_json(tags: Iterable[str]) -> str | None:
    """Words in the order given, each once, without the spaces around them; None for none."""
    words = list(dict.fromkeys(word for tag in tags if (word := " ".join(tag.split()))))
    return json.dumps(words, ensure_ascii=False) if words else None
