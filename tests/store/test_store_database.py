from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.errors import AppError
from paddock.hardware.model import DeviceReading, Reading
from paddock.launch.model import Plan, Setting
from paddock.session import Event, Request, Sample, SlotSample
from paddock.session.model import MarkChange
from paddock.store import Database, SessionStart, schema
from paddock.store.rows import process_started

NAN = math.nan
START = SessionStart(("llama-server", "-m", "x.gguf"), {"A": "1"}, model="x", model_identity="id-x", engine="11434",
                     plan=Plan((Setting("ctx-size", ("0",)), Setting("mlock", (), False))), profile="Chat",
                     estimate={"main": [{"name": "Host", "model": 1}]}, machine={"ram": 8})


def reading(t: float) -> Reading:
    card = DeviceReading("CUDA0", 10.0, 5.0, 8.0, 50.0, NAN, 1500.0, 900.0, 99.5, 60.0, NAN, NAN, ("sw_power_cap",))
    return Reading(t, 12.0, 100.0, 200.0, 0.0, 95.0, 50.0, (card,))


def sample(t: float, rate: float = 20.0, at: Reading | None = None, task: int | None = 3) -> Sample:
    slot = SlotSample(0, True, "generating", task, 100.0 + t, 4096.0, 50.0, t, rate, NAN, NAN)
    return Sample(t, rate, NAN, 100.0, 1.0, 0.0, NAN, (slot,), at, True)


def test_a_session_comes_back_whole(database: Database) -> None:
    number = database.start_session(START)
    database.state(number, "ready")
    request = Request(1, 3, 0, 0.5, prompt_tokens=10)
    database.request(number, request)
    done = replace(request, t_end=2.0, generated_tokens=40, cached_tokens=0, generation_per_s=21.5, status="done")
    database.request(number, done)
    database.request(number, Request(2, 4, 1, 0.6, generated_tokens=5, is_child=True, status="done"))
    database.event(number, Event(0.1, "state", "ready", {"path": "/m/\udcff", "x": NAN}))
    database.actual(number, {"main": [{"name": "Host", "model": 2}]})
    database.finish_session(number, "stopped", 0, "stopped on request", "last line \udcff")
    detail = database.session(number)
    assert detail.row.as_dict() == {"id": number, "start": START.start_utc, "end": detail.row.end, "state": "stopped",
                                    "model": "x", "engine": "11434", "requests": 1, "generated_tokens": 45,
                                    "profile": START.profile, "note": None, "tags": []}
    assert detail.row.end is not None
    assert detail.requests[0] == done
    assert detail.events == (Event(0.1, "state", "ready", {"path": "/m/\udcff", "x": None}),)
    assert detail.plan == START.plan
    assert (detail.estimate, detail.actual) == (START.estimate, {"main": [{"name": "Host", "model": 2}]})
    assert detail.log_excerpt == "last line ?"
    shown = detail.as_dict()
    assert shown["requests"][0]["prompt_tokens"] == 10
    assert shown["requests"][0]["status"] == "done"
    assert shown["command"] == ["llama-server", "-m", "x.gguf"]


def test_no_key_reaches_the_file(database: Database, tmp_path: Path) -> None:
    key = "s3cret-value"
    start = replace(START, command=("env", f"HF_TOKEN={key}", "llama-server", "--api-key", key, f"--hf-token={key}"),
                    environment={"LLAMA_API_KEY": key, "A": "1", "HF_TOKEN": "env:MY_TOKEN"},
                    plan=Plan((Setting("api-key", (key,)), Setting("ctx-size", ("1",)))))
    detail = database.session(database.start_session(start))
    assert detail.command == ("env", "HF_TOKEN=***", "llama-server", "--api-key", "***", "--hf-token=***")
    assert detail.environment == {"LLAMA_API_KEY": "***", "A": "1", "HF_TOKEN": "env:MY_TOKEN"}
    assert detail.plan == Plan((Setting("ctx-size", ("1",)),))
    database.close()
    assert all(key.encode() not in p.read_bytes() for p in tmp_path.iterdir())


def test_series_come_back_with_gaps(database: Database) -> None:
    number = database.start_session(START)
    first = reading(100.0)
    for t, rate, at in ((0.2, 20.0, first), (0.4, 21.0, first), (0.6, NAN, None), (5.0, 0.0, reading(105.0))):
        database.sample(number, sample(t, rate, at))
    database.flush()
    series = database.series(number)
    times, rates = series.view("generation_per_s")
    assert times.tolist() == [0.2, 0.4, 0.6, 5.0]
    assert [None if math.isnan(r) else r for r in rates.tolist()] == [20.0, 21.0, None, 0.0]
    assert series.view("CUDA0.used_bytes")[1].tolist() == [10.0] * 4
    assert series.view("slot.0.context_used")[1][0] == pytest.approx(100.2)
    assert database.query("SELECT count(*) FROM device_sample")[1] == [(2,)]


def test_slots_that_do_not_change_take_no_rows(database: Database) -> None:
    number = database.start_session(START)
    idle = SlotSample(0, False, "idle", None, 5.0, 4096.0, NAN, NAN, NAN, NAN, NAN)
    for t in range(10):
        database.sample(number, replace(sample(float(t)), slots=(idle,)))
    database.flush()
    assert database.query("SELECT count(*) FROM slot_sample")[1] == [(1,)]


def test_history_is_newest_first_and_searchable(database: Database) -> None:
    for name, engine in (("gemma-3", "11434"), ("qwen_3", "11434"), ("gemma-4", "10434")):
        database.start_session(replace(START, model=name, engine=engine, profile=None, model_identity=None))
    assert [s.model for s in database.sessions()] == ["gemma-4", "qwen_3", "gemma-3"]
    assert [s.model for s in database.sessions(limit=1)] == ["gemma-4"]
    assert [s.model for s in database.sessions(search="gemma 11434")] == ["gemma-3"]
    assert [s.model for s in database.sessions(search="n_3")] == ["qwen_3"]
    assert database.sessions(search="%") == []


def test_deleting_a_session_takes_its_rows(database: Database) -> None:
    number = database.start_session(START)
    database.sample(number, sample(0.1, at=reading(1.0)))
    database.request(number, Request(1, 1, 0, 0.0))
    database.event(number, Event(0.0, "mark", "x"))
    database.finish_session(number, "stopped", log_excerpt="x")
    database.delete(number)
    for table in ("session", "request", "event", "system_sample", "device_sample", "slot_sample", "log_excerpt"):
        assert database.query(f"SELECT count(*) FROM {table}")[1] == [(0,)], table
    with pytest.raises(AppError, match="no session"):
        database.delete(number)
    with pytest.raises(AppError, match="no session"):
        database.session(number)


def test_rows_of_a_deleted_session_are_dropped_and_the_rest_is_kept(database: Database) -> None:
    gone, stays = database.start_session(START), database.start_session(START)
    database.delete(gone)
    database.event(gone, Event(0.0, "mark", "late"))
    database.request(stays, Request(1, 2**70, 0, 0.0))
    database.event(stays, Event(0.0, "mark", "fine"))
    database.flush()
    assert database.query("SELECT text FROM event")[1] == [("fine",)]
    assert database.dropped == 2
    assert database.problem is None


def test_queries_read_and_nothing_else(database: Database, tmp_path: Path) -> None:
    assert database.query("SELECT 1 AS one, ? AS two", ("x",)) == (["one", "two"], [(1, "x")])
    assert database.query("WITH a AS (SELECT 2 AS b) SELECT b FROM a")[1] == [(2,)]
    for sql in ("DELETE FROM session", "CREATE TABLE x (y)", "SELECT * FROM nowhere", "PRAGMA user_version = 9",
                f"ATTACH '{tmp_path / 'new.db'}' AS x", "SELECT 1; SELECT 2", "not sql"):
        with pytest.raises(AppError):
            database.query(sql)
    assert not (tmp_path / "new.db").exists()
    assert database.query("PRAGMA user_version")[1] == [(schema.migrations()[-1][0],)]


def test_a_failing_write_of_another_room_reaches_its_caller_only(database: Database) -> None:
    number = database.start_session(START)

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE session SET note = 'half'")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        database.write(broken)
    assert database.session(number).row.note is None
    assert database.write(lambda c: c.execute("SELECT 7").fetchone()[0]) == 7


def test_a_locked_database_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_S", 0.05)
    path = tmp_path / "paddock.db"
    with Database(path, commit_s=0.02) as database:
        number = database.start_session(START)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        database.event(number, Event(0.0, "mark", "while locked"))
        with pytest.raises(AppError, match="could not be written"):
            database.flush()
        assert database.problem is not None
        other.execute("COMMIT")
        other.close()
        database.flush()
        assert database.query("SELECT text FROM event")[1] == [("while locked",)]
        assert database.problem is None


def test_two_processes_write_at_once(tmp_path: Path, run_python: Callable[..., subprocess.Popen[str]]) -> None:
    path = tmp_path / "paddock.db"
    code = """
import sys
from paddock.store import Database, SessionStart
from paddock.session import Event
with Database(__import__("pathlib").Path(sys.argv[1]), commit_s=0.01) as d:
    n = d.start_session(SessionStart(("x",)))
    for i in range(300):
        d.event(n, Event(float(i), "mark", str(i)))
        if i % 30 == 0:
            d.flush()
    d.finish_session(n, "stopped")
"""
    writers = [run_python(code, str(path)) for _ in range(3)]
    assert [w.wait(60) for w in writers] == [0, 0, 0]
    with Database(path) as database:
        assert len(database.sessions()) == 3
        assert database.query("SELECT count(*) FROM event GROUP BY session_id")[1] == [(300,)] * 3


def test_a_killed_paddock_leaves_a_readable_interrupted_session(
    tmp_path: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    path = tmp_path / "paddock.db"
    code = """
import sys, pathlib, threading
from paddock.store import Database, SessionStart
from paddock.session import Event, Request, Sample
d = Database(pathlib.Path(sys.argv[1]), commit_s=0.01)
n = d.start_session(SessionStart(("x",), model="m"))
nan = float("nan")
d.sample(n, Sample(12.5, 3.0, nan, nan, 1.0, 0.0, nan, (), None, True))
d.request(n, Request(1, 1, 0, 1.0))
d.flush()
print(n, flush=True)
threading.Event().wait()
"""
    process = run_python(code, str(path))
    assert process.stdout is not None
    number = int(process.stdout.readline())
    with Database(path) as database:
        assert database.mark_interrupted() == []
        assert database.session(number).row.state == "starting"
        process.kill()
        process.wait()
        assert database.mark_interrupted() == [number]
        detail = database.session(number)
        assert detail.row.state == "interrupted"
        assert detail.row.end is not None
        assert detail.row.end > detail.row.start
        assert [r.status for r in detail.requests] == ["failed"]
        assert len(database.series(number)) == 1
        assert database.mark_interrupted() == []


def test_a_used_again_pid_is_not_the_owner(database: Database) -> None:
    mine = database.start_session(START)
    begun = process_started(os.getpid())
    assert begun is not None
    other = database.start_session(replace(START, owner_started=begun - 1000))
    assert database.mark_interrupted() == [other]
    assert database.session(mine).row.state == "starting"


def test_an_older_form_is_copied_before_it_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "paddock.db"
    with Database(path) as database:
        number = database.start_session(START)
    newest, _ = schema.migrations()[-1]
    more = [*schema.migrations(), (newest + 1, "CREATE TABLE later (x);\nINSERT INTO later VALUES (1);\n")]
    monkeypatch.setattr(schema, "migrations", lambda: more)
    with Database(path) as database:
        assert database.query("SELECT x FROM later")[1] == [(1,)]
        assert database.session(number).row.model == "x"
    copies = list(tmp_path.glob("paddock.db.v*.bak"))
    assert len(copies) == 1
    with sqlite3.connect(copies[0]) as old:
        assert old.execute("SELECT count(*) FROM session").fetchone() == (1,)
        assert old.execute("PRAGMA user_version").fetchone() == (newest,)
    old.close()


def test_a_failed_migration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "paddock.db"
    with Database(path):
        pass
    newest, _ = schema.migrations()[-1]
    broken = [*schema.migrations(), (newest + 1, "CREATE TABLE later (x);\nINSERT INTO nowhere VALUES (1);\n")]
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", lambda: broken)
        with pytest.raises(AppError):
            Database(path)
    with Database(path) as database:
        assert database.query("SELECT name FROM sqlite_master WHERE name = 'later'")[1] == []


def test_a_newer_database_is_refused_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "paddock.db"
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 999")
    raw.close()
    with pytest.raises(AppError, match="newer Paddock"):
        Database(path)


def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "paddock.db"
    path.write_bytes(b"this is not a database" * 100)
    with Database(path) as database:
        assert database.sessions() == []
        assert "damaged" in str(database.notices[0])
    assert any(".broken-" in p.name for p in tmp_path.iterdir())


def test_an_unusable_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AppError) as caught:
        Database(tmp_path / "file" / "paddock.db")
    assert caught.value.hint


def test_closing_twice_is_fine_and_ends_the_thread(tmp_path: Path) -> None:
    database = Database(tmp_path / "paddock.db")
    number = database.start_session(START)
    database.event(number, Event(0.0, "mark", "queued"))
    database.close()
    database.close()
    database.event(number, Event(0.0, "mark", "too late"))
    assert not [t for t in threading.enumerate() if t.name == "database writer"]
    with Database(tmp_path / "paddock.db") as again:
        assert again.query("SELECT text FROM event")[1] == [("queued",)]


def test_old_sessions_are_purged_by_age(database: Database) -> None:
    old, new, running = (database.start_session(START) for _ in range(3))
    database.finish_session(old, "stopped")
    database.finish_session(new, "stopped")
    database.write(lambda c: c.execute("UPDATE session SET end_utc = '2020-01-01T00:00:00+00:00' WHERE id = ?", (old,)))
    assert database.purge(30) == 1
    assert {s.id for s in database.sessions()} == {new, running}


def test_importing_the_store_needs_no_keyring(run_python: Callable[..., subprocess.Popen[str]]) -> None:
    assert run_python("import sys, paddock.store; sys.exit('keyring' in sys.modules)").wait(60) == 0


def test_rows_that_keep_coming_do_not_put_the_commit_off(tmp_path: Path) -> None:
    """The watched server is sampled more often than rows are committed: the first rows must not wait for a pause."""
    with Database(tmp_path / "paddock.db", commit_s=0.2) as database:
        session = database.start_session(START)
        until = time.monotonic() + 10
        t = 0.0
        while not database.query("SELECT 1 FROM system_sample")[1]:
            assert time.monotonic() < until, "nothing was committed while rows kept coming"
            t += 1.0
            database.sample(session, sample(t))
            time.sleep(0.02)
        assert t < 400


def test_marks_are_kept_found_and_taken_away(database: Database) -> None:
    number = database.start_session(START)
    database.tag(number, ("night  run", "fast", "fast", " "))
    database.note(number, " first day ")
    row = database.sessions()[0]
    assert (row.tags, row.note) == (("night run", "fast"), "first day")
    assert [r.id for r in database.sessions(search="night")] == [number]
    assert database.sessions(search="morning") == []
    database.tag(number, ())
    database.note(number, "")
    assert (database.sessions()[0].tags, database.sessions()[0].note) == ((), None)
    with pytest.raises(AppError, match="no session 99"):
        database.tag(99, ("x",))


def test_the_oldest_make_room_but_not_those_that_are_marked_or_run(database: Database) -> None:
    ids = [database.start_session(replace(START, start_utc=f"2026-01-0{day}T00:00:00.000+00:00"))
           for day in range(1, 6)]
    for number in ids[:-1]:
        database.finish_session(number, "stopped", log_excerpt="x" * (1 << 20))
    database.tag(ids[0], ("keep",))
    before = database.used_bytes()
    assert database.purge_to(before // (1 << 20) + 1) == 0
    assert database.purge_to(2) == 2
    assert sorted(r.id for r in database.sessions()) == [ids[0], ids[3], ids[4]]
    assert database.used_bytes() < before
    assert database.purge_to(1) == 0  # the last that is over stays


def test_a_stored_mark_is_edited_and_deleted_and_nothing_else(database: Database) -> None:
    session_id, other = (database.start_session(SessionStart(command=("x",))) for _ in range(2))
    mark, issue = Event(7.0, "mark", "note: a", {"note": "a"}), Event(7.0, "issue", "note: a")
    for one in (session_id, other):
        database.row(one, mark)
        database.row(one, issue)
    edited = Event(7.0, "mark", "note: b", {"note": "b"})
    database.row(session_id, MarkChange(mark, edited))
    database.row(session_id, MarkChange(issue, None))
    database.flush()
    assert database.session(session_id).events == (edited, issue)
    database.row(session_id, MarkChange(edited, None))
    database.row(session_id, MarkChange(edited, mark))
    database.flush()
    assert database.session(session_id).events == (issue,)
    assert [e.kind for e in database.session(other).events] == ["mark", "issue"]
