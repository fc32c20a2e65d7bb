"""The usual speed and the history's speeds, on a real database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.desktop.pages.run.usual import usual_of
from paddock.desktop.pages.sessions.rows import SPEEDS_SQL
from paddock.session.model import Request
from paddock.store import Database, SessionStart


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "paddock.db")
    yield made
    made.close()


def session(database: Database, *requests: Request, profile: str | None = "Chat", identity: str | None = "aa") -> int:
    made = database.start_session(SessionStart(command=("llama",), model="m", model_identity=identity, profile=profile))
    for request in requests:
        database.request(made, request)
    database.flush()
    return made


def request(number: int, tokens: int, per_s: float | None, evaluated: int = 100, prompt: float = 500.0) -> Request:
    return Request(number, number, 0, 0.0, generated_tokens=tokens, generation_per_s=per_s, prompt_per_s=prompt,
                   evaluated_tokens=evaluated, status="done")


def test_long_requests_count_for_more(database: Database) -> None:
    first = session(database, request(1, 300, 30.0), request(2, 10, 100.0), request(3, 5, None), request(4, 1, 0.0))
    _, rows = database.query(SPEEDS_SQL)
    assert rows == [(first, pytest.approx(310 / 10.1))]


def test_the_usual_is_the_median_of_the_same_model_and_profile(database: Database) -> None:
    for speed in (40.0, 50.0, 90.0):
        session(database, request(1, 100, speed))
    session(database, request(1, 100, 5.0), profile="Slow")
    session(database, request(1, 100, 5.0), identity="bb")
    own = session(database, request(1, 100, 1.0))
    usual = usual_of(_Workspace(database), own)
    assert usual.generation_per_s == pytest.approx(50.0)
    assert usual.prompt_per_s == pytest.approx(500.0)


def test_short_prompts_tell_no_usual_speed(database: Database) -> None:
    session(database, request(1, 100, 40.0, evaluated=3, prompt=9000.0))
    usual = usual_of(_Workspace(database), session(database))
    assert usual.generation_per_s == pytest.approx(40.0)
    assert usual.prompt_per_s is None


def test_without_a_past_there_is_no_usual_speed(database: Database) -> None:
    assert usual_of(_Workspace(database), session(database)).generation_per_s is None
    assert usual_of(_Workspace(database), 99).generation_per_s is None


class _Workspace:
    def __init__(self, database: Database) -> None:
        self.sessions, self.query = database.sessions, database.query
