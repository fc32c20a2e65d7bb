from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from paddock.cli.arguments import Globals
from paddock.cli.main import run
from paddock.session import Request
from paddock.store import Database, SessionStart

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
