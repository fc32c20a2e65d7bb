"""How fast earlier sessions were: single answers without drafts, weighted by their tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paddock.launch import parse_argv
from paddock.session.model import Request
from paddock.store import Database
from paddock.store.rows import SessionStart
from paddock.store.speeds import PastDevice, read

PLAN = parse_argv(["-m", "a.gguf", "-c", "4096"])
DEVICES = {"devices": [{"name": "CUDA0", "description": "A card", "total": 8, "free": 7}]}


def request(number: int, start: float, end: float | None, tokens: int = 100, speed: float | None = 50.0,
            **more: Any) -> Request:
    return Request(number, number, 0, start, end, generated_tokens=tokens, generation_per_s=speed, status="done",
                   **{"context_used": 1000, **more})


@pytest.fixture
def kept(tmp_path: Path) -> Any:
    def made(*sessions: list[Request], identity: str = "model", engine: str = "/engine") -> Path:
        path = tmp_path / "paddock.db"
        database = Database(path)
        try:
            for requests in sessions:
                number = database.start_session(SessionStart(
                    command=("llama-server",), model_identity=identity, engine_facts={"path": engine}, plan=PLAN,
                    machine=DEVICES))
                for one in requests:
                    database.request(number, one)
                database.finish_session(number, state="stopped", exit_code=0, reason=None, log_excerpt=None)
        finally:
            database.close()
        return path

    return made


def test_tokens_over_time_with_plan_devices_and_depth(kept: Any) -> None:
    path = kept([request(1, 0, 2, 100, 50.0), request(2, 3, 7, 300, 100.0, context_used=3000)])
    (found,) = read(path, "model", "/engine")
    assert found.tokens_per_s == pytest.approx(400 / (2 + 3))
    assert found.context == pytest.approx((100 * 950 + 300 * 2850) / 400)
    assert (found.plan, found.tokens) == (PLAN, 400)
    assert found.devices == (PastDevice("CUDA0", "A card", 8, 7),)


def test_answers_that_overlap_or_had_a_draft_do_not_count(kept: Any) -> None:
    path = kept([request(1, 0, 5, speed=10.0), request(2, 4, 6, speed=11.0), request(3, 7, 8, speed=60.0),
                 request(4, 9, 10, speed=200.0, draft_tokens=30), request(5, 11, 12, speed=500.0, source="counters"),
                 request(6, 13, None, speed=5.0)])
    (found,) = read(path, "model", "/engine")
    assert found.tokens_per_s == pytest.approx(60.0)


def test_too_few_tokens_another_model_or_engine_say_nothing(kept: Any) -> None:
    path = kept([request(1, 0, 2, tokens=20)])
    assert read(path, "model", "/engine") == []
    path = kept([request(1, 0, 2)])
    assert len(read(path, "model", "/engine")) == 1
    assert read(path, "other", "/engine") == []
    assert read(path, "model", "/other") == []


def test_the_newest_sessions_come_first_and_no_database_is_made(kept: Any, tmp_path: Path) -> None:
    path = kept(*([request(1, 0, 2, speed=float(s))] for s in range(10, 22)))
    assert [one.tokens_per_s for one in read(path, "model", "/engine", 3)] == pytest.approx([21.0, 20.0, 19.0])
    nothing = tmp_path / "none.db"
    assert read(nothing, "model", "/engine") == []
    assert not nothing.exists()
