"""The ledger: rows of estimate and actual figures, per launch."""

from __future__ import annotations

from pathlib import Path

from paddock.store import Database, SessionStart
from paddock.store.ledger import LedgerKey, LedgerRow, forget, read, write

KEY = LedgerKey("model-1", "/opt/llama", "1.0")


def row(actual: int, device: str = "CUDA0", kind: str = "cuda", term: str = "compute") -> LedgerRow:
    return LedgerRow(device, kind, "main", term, 100, 97, 103, 100, actual)


def launch(database: Database, *rows: LedgerRow, key: LedgerKey = KEY, backends: str = "cuda") -> int:
    session = database.start_session(SessionStart(command=("llama",)))
    write(database, session, key, backends, rows)
    database.flush()
    return session


def test_the_newest_launches_come_first_and_only_so_many(database: Database) -> None:
    for actual in range(7):
        launch(database, row(actual), row(actual, "Host", "host"))
    found = read(database.path, KEY)
    assert [rows[0].actual for rows in found] == [6, 5, 4, 3, 2]
    assert [r.device for r in found[0]] == ["CUDA0", "Host"]
    assert found[0][0] == row(6)


def test_launches_of_other_models_engines_versions_and_backends_are_apart(database: Database) -> None:
    launch(database, row(1))
    launch(database, row(2), key=LedgerKey("model-2", KEY.engine, KEY.engine_version))
    launch(database, row(3), key=LedgerKey(KEY.model_identity, "/opt/other", KEY.engine_version))
    launch(database, row(4), key=LedgerKey(KEY.model_identity, KEY.engine, "1.1"))
    launch(database, row(5), backends="cuda+rpc")
    assert [rows[0].actual for rows in read(database.path, KEY)] == [5, 1]
    assert [rows[0].actual for rows in read(database.path, KEY, "cuda")] == [1]


def test_a_row_that_is_told_again_replaces_the_first(database: Database) -> None:
    session = launch(database, row(1))
    write(database, session, KEY, "cuda", [row(2), row(3, term="overhead")])
    database.flush()
    (rows,) = read(database.path, KEY)
    assert [(r.term, r.actual) for r in rows] == [("compute", 2), ("overhead", 3)]


def test_forgetting_marks_and_keeps(database: Database) -> None:
    launch(database, row(1), row(2, "Host", "host"))
    assert forget(database, KEY, "host") == 1
    assert [r.forgotten for r in read(database.path, KEY)[0]] == [False, True]
    assert forget(database) == 1
    assert forget(database) == 0
    launch(database, row(3))
    assert [r.forgotten for rows in read(database.path, KEY) for r in rows] == [False, True, True]


def test_a_deleted_session_takes_its_rows_along(database: Database) -> None:
    session = launch(database, row(1))
    database.delete(session)
    assert read(database.path, KEY) == []


def test_no_database_is_made_for_a_look(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    assert read(path, KEY) == []
    assert not path.exists()
    path.write_bytes(b"not a database at all")
    assert read(path, KEY) == []
