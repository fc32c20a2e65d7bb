"""A mark of the person's in a stored session, edited or deleted."""

from __future__ import annotations

import json
import sqlite3

from paddock.session.model import MarkChange

_THIS_ONE = "id = (SELECT id FROM event WHERE session_id = ? AND kind = 'mark' AND t = ? AND text = ? LIMIT 1)"


def change(connection: sqlite3.Connection, session_id: int, what: MarkChange) -> int:
    """Returns how many were changed: 0 where that mark is gone."""
    found = (session_id, what.was.t, what.was.text)
    if what.now is None:
        return connection.execute(f"DELETE FROM event WHERE {_THIS_ONE}", found).rowcount
    data = json.dumps(what.now.data, ensure_ascii=False) if what.now.data else None
    new = (what.now.text, data)
    return connection.execute(f"UPDATE event SET text = ?, data = ? WHERE {_THIS_ONE}", (*new, *found)).rowcount
