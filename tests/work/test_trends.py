"""Figures of many sessions, and the updates that changed them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from paddock.session import Request
from paddock.store import Database, SessionStart
from paddock.work import trends

GIB = 1 << 30


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "paddock.db") as made:
        yield made


def sitting(database: Database, day: int, engine: str, speed: float, *, profile: str = "Chat", model: str = "m",
            used: float = 8.0, count: int = 8, version: str | None = None) -> int:
    """A session whose requests vary by two percent around a speed."""
    number = database.start_session(SessionStart(
        ("llama-server",), model=model, model_identity=f"id-{model}", engine=engine, profile=profile,
        engine_facts={"version": version} if version else None, start_utc=f"2026-01-{day:02}T10:00:00.000+00:00"))
    for i in range(count):
        wobble = 1 + 0.02 * np.sin(7.0 * i + day)
        database.request(number, Request(
            i + 1, i, 0, float(i), t_end=i + 0.9, prompt_tokens=40, evaluated_tokens=40 if i else 4,
            ttft_s=0.3 / wobble, generated_tokens=20, generation_per_s=speed * wobble, prompt_per_s=500.0 * wobble,
            status="done", draft_tokens=10, accepted_tokens=6))
    database.actual(number, {"measured": {"CUDA0": {"process_bytes": used * GIB}, "Host": {"process_bytes": GIB}}})
    database.finish_session(number, "stopped")
    return number


def test_requests_come_as_columns_oldest_session_first(database: Database) -> None:
    late = sitting(database, 9, "b1", 20.0)
    early = sitting(database, 2, "b1", 40.0)
    found = trends.table(database)
    assert [s.id for s in found.sittings] == [early, late]
    assert found.of.tolist() == [early] * 8 + [late] * 8
    assert np.median(found.values("generation_per_s", [early])) == pytest.approx(40.0, rel=0.02)
    assert found.columns["acceptance"][0] == 0.6
    assert np.isnan(found.columns["prompt_per_s"][0])  # too short a prompt tells no speed
    assert set(found.columns) == set(trends.METRICS)
    assert found.columns["memory_bytes"].tolist() == [8.0 * GIB] * 16


def test_the_selection_is_by_model_profile_and_id(database: Database) -> None:
    chat, code = sitting(database, 1, "b1", 20.0), sitting(database, 2, "b1", 20.0, profile="Code")
    other = sitting(database, 3, "b1", 20.0, model="n")
    ids = [[s.id for s in trends.table(database, **chosen).sittings]  # type: ignore[arg-type]
           for chosen in ({"model": "m"}, {"profile": "Code"}, {"session_ids": [chat, other]}, {"model": "none"})]
    assert ids == [[chat, code], [code], [chat, other], []]
    assert len(trends.table(database, model="none").of) == 0


def test_an_update_that_made_it_slower_and_hungrier_is_told(database: Database) -> None:
    for day in (1, 2, 3):
        sitting(database, day, "b1", 40.0)
    first = sitting(database, 4, "b2", 34.0, used=8.5)
    sitting(database, 5, "b2", 34.0, used=8.5)
    found = {c.metric: c for c in trends.changes(trends.table(database))}
    slower = found["generation_per_s"]
    assert (slower.session_id, slower.before, slower.after, slower.worse) == (first, "b1", "b2", True)
    assert slower.low < slower.share == pytest.approx(-0.15, abs=0.02)
    assert slower.high < 0
    assert found["memory_bytes"].worse
    assert found["memory_bytes"].share == pytest.approx(0.0625)
    assert "prompt_per_s" not in found


def test_an_update_that_changed_nothing_and_another_profile_are_not(database: Database) -> None:
    sitting(database, 1, "b1", 40.0)
    sitting(database, 2, "b2", 40.1)
    sitting(database, 3, "b1", 20.0, profile="Code")
    assert trends.changes(trends.table(database)) == []


def test_too_few_requests_tell_no_change(database: Database) -> None:
    sitting(database, 1, "b1", 40.0, count=3)
    sitting(database, 2, "b2", 20.0, count=3)
    assert [c.metric for c in trends.changes(trends.table(database))] == []


def test_the_same_engine_by_another_version_is_an_update(database: Database) -> None:
    sitting(database, 1, "llama.cpp (PATH)", 40.0, version="1")
    sitting(database, 2, "llama.cpp (PATH)", 50.0, version="2")
    (change,) = trends.changes(trends.table(database))
    assert (change.before, change.after, change.worse) == ("llama.cpp (PATH), 1", "llama.cpp (PATH), 2", False)
