"""Sessions carried from one data folder to another in a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paddock.errors import AppError
from paddock.hardware.model import DeviceReading, Reading
from paddock.launch import Plan
from paddock.session.model import Event, Request, Sample, SlotSample
from paddock.session.proxy import Exchange
from paddock.store import Database, SessionStart
from paddock.store.carrying import export_session, import_sessions

NAN = float("nan")


def device(name: str) -> DeviceReading:
    return DeviceReading(name, 5.0, 6.0, 4.0, 50.0, 20.0, 1000.0, 2000.0, 99.0, 60.0, NAN, NAN, ("sw_power_cap",))


def recorded(database: Database, **start: Any) -> int:
    """A session with a row of everything."""
    number = database.start_session(SessionStart(
        command=("llama", "serve", "-m", "m.gguf"), model="M", model_identity="ab" * 32, profile="Chat",
        plan=Plan().with_("ctx-size", 4096), machine={"system": "Linux"}, estimate={"main": []}, **start))
    for t in (1.0, 2.0):
        slot = SlotSample(0, True, "generating", 3, 10.0 + t, 4096.0, 8.0, t, 40.0, NAN, NAN)
        reading = Reading(t, 10.0, 1e9, 2e9, 0.0, 100.0, 5e8, (device("CUDA0"),))
        database.sample(number, Sample(t, 40.0 + t, NAN, 11.0, 1.0, 0.0, NAN, (slot,), reading, True))
    database.request(number, Request(1, 3, 0, 0.5, t_end=2.0, prompt_tokens=8, generated_tokens=20, status="done"))
    database.event(number, Event(1.5, "mark", "note: door opened", {"a": 1}))
    database.finish_session(number, "stopped", 0, "Stopped.", "line one\nline two")
    return number


@pytest.fixture
def other(tmp_path: Path) -> Database:
    return Database(tmp_path / "other" / "paddock.db", commit_s=0.05)


def test_a_session_arrives_whole_but_for_whose_it_was(tmp_path: Path, database: Database, other: Database) -> None:
    with other:
        first = recorded(other)
        second = recorded(database)
        assert first == second, "its number is taken where it arrives"
        export_session(database.path, second, tmp_path / "one.paddock")
        (made,) = import_sessions(other, tmp_path / "one.paddock")
        assert made != first
        there, here = database.session(second), other.session(made)
        assert (here.requests, here.events, here.log_excerpt) == (there.requests, there.events, there.log_excerpt)
        assert (here.plan, here.command, here.machine, here.estimate) == (
            there.plan, there.command, there.machine, there.estimate)
        assert (here.row.state, here.row.start, here.row.end, here.row.reason) == (
            there.row.state, there.row.start, there.row.end, there.row.reason)
        assert here.row.model_identity is None, "another machine's figures are no measure of this one"
        a, b = database.series(second), other.series(made)
        assert set(a.names) == set(b.names)
        for name in a.names:
            np.testing.assert_array_equal(a.view(name)[1], b.view(name)[1])
        assert len(other.session(first).requests) == 1


def test_a_session_that_was_not_ended_arrives_ended(tmp_path: Path, database: Database, other: Database) -> None:
    number = database.start_session(SessionStart(command=("x",)))
    export_session(database.path, number, tmp_path / "one.paddock")
    with other:
        (made,) = import_sessions(other, tmp_path / "one.paddock")
        row = other.session(made).row
        assert (row.state, row.end) == ("interrupted", row.start)


def test_nothing_but_that_session_is_in_the_file(tmp_path: Path, database: Database) -> None:
    wanted, _ = recorded(database), recorded(database, label="secret other one")
    database.row(wanted, Exchange(1, "2026-01-02T03:04:06.490+00:00", "POST", "/v1/chat/completions", "127.0.0.1",
                                  request_text="a private prompt", response_text="a private answer", t_start=0.5))
    database.flush()
    file = tmp_path / "one.paddock"
    export_session(database.path, wanted, file)
    with closing(sqlite3.connect(file)) as made:
        assert made.execute("SELECT count(*) FROM session").fetchone() == (1,)
        assert made.execute("SELECT count(*) FROM exchange_text").fetchone() == (0,)
        assert made.execute("SELECT count(*) FROM ledger").fetchone() == (0,)
        assert made.execute("SELECT count(*) FROM exchange").fetchone() == (1,)
    for secret in (b"secret other one", b"private prompt", b"private answer"):
        assert secret not in file.read_bytes()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".paddock")] == []
    assert not file.with_name("one.paddock-wal").exists()


def test_a_session_that_is_not_there_is_said_and_no_file_is_made(tmp_path: Path, database: Database) -> None:
    with pytest.raises(AppError, match="no session 99"):
        export_session(database.path, 99, tmp_path / "one.paddock")
    assert not (tmp_path / "one.paddock").exists()
    with pytest.raises(AppError, match="could not be written"):
        export_session(database.path, recorded(database), tmp_path / "nowhere" / "one.paddock")


def _other_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE notes (a)")


def _emptied(path: Path) -> None:
    with Database(path.with_name("empty.db")) as made:
        made.flush()
    path.with_name("empty.db").replace(path)


@pytest.mark.parametrize("make", [
    lambda p: p.write_bytes(b""), lambda p: p.write_bytes(b'{"id": 1}'), lambda p: p.write_bytes(bytes(9000)),
    lambda p: p.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000), _other_program, _emptied],
    ids=["empty", "json", "nul", "damaged", "other", "no session"])
def test_what_is_no_session_file_is_refused_in_words_and_left_as_it_is(
    tmp_path: Path, database: Database, make: Callable[[Path], object]
) -> None:
    file = tmp_path / "odd.paddock"
    make(file)
    before = file.read_bytes()
    with pytest.raises(AppError, match="holds no session"):
        import_sessions(database, file)
    assert file.read_bytes() == before
    assert database.sessions() == []


def test_a_missing_file_and_one_of_a_newer_paddock_are_told_apart(tmp_path: Path, database: Database) -> None:
    with pytest.raises(AppError, match="cannot be read"):
        import_sessions(database, tmp_path / "gone.paddock")
    file = tmp_path / "new.paddock"
    export_session(database.path, recorded(database), file)
    with closing(sqlite3.connect(file)) as made:
        made.execute("PRAGMA user_version = 9999")
    with pytest.raises(AppError, match="newer Paddock"):
        import_sessions(database, file)


def test_a_truncated_file_brings_nothing_in(tmp_path: Path, database: Database) -> None:
    file = tmp_path / "one.paddock"
    number = recorded(database)
    export_session(database.path, number, file)
    file.write_bytes(file.read_bytes()[:-8192])
    with pytest.raises(AppError):
        import_sessions(database, file)
    assert [r.id for r in database.sessions()] == [number]
