from __future__ import annotations

import csv
import io
import json
import os
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from paddock.cli.arguments import Globals
from paddock.cli.main import run
from paddock.session import Request
from paddock.store import Database, SessionStart, reading

EXPORT = "SELECT id, tps, status, batch_size FROM requests"


@pytest.fixture
def options(tmp_path: Path) -> Globals:
    with Database(tmp_path / "paddock.db", commit_s=0.05) as database:
        session = database.start_session(SessionStart(("llama-server",), {}, model="m"))
        database.request(session, Request(1, 1, 0, 1.0, generation_per_s=20.0, status="done"))
    return Globals(data_dir=str(tmp_path))


def test_a_query_is_written_as_csv(options: Globals, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "--csv", EXPORT], options) == 0
    assert list(csv.DictReader(io.StringIO(capsys.readouterr().out))) == [
        {"id": "1000001", "tps": "20.0", "status": "done", "batch_size": ""}]


def test_another_databases_spelling_gets_a_hint(options: Globals, capsys: pytest.CaptureFixture[str]) -> None:
    options.json = True
    assert run(["sql", "SELECT quantile(tps, 0.5) FROM requests"], options) == 1
    assert "Write percentile instead" in json.loads(capsys.readouterr().out)["error"]["hint"]


def test_an_infinite_number_is_null_in_json(options: Globals, capsys: pytest.CaptureFixture[str]) -> None:
    options.json = True
    assert run(["sql", "SELECT 9e999 AS x, 1.5 AS y"], options) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == [{"x": None, "y": 1.5}]


def test_ctrl_c_ends_an_endless_query(options: Globals, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    functions = reading.add_functions

    def with_mark(connection: sqlite3.Connection) -> None:
        functions(connection)
        connection.create_function("begun", 0, lambda: begun.set() or 1)

    def ctrl_c() -> None:
        if begun.wait(30):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(reading, "add_functions", with_mark)
    hand = threading.Thread(target=ctrl_c)
    hand.start()
    endless = "WITH RECURSIVE c(x) AS (SELECT begun() UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    assert run(["sql", endless], options) == 130
    hand.join()
