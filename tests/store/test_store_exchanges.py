"""What the recording proxy saw, stored and asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paddock.session import Request
from paddock.session.proxy import Exchange
from paddock.store import Database, SessionStart

START = SessionStart(("llama-server",), {}, model="m", start_utc="2026-01-02T03:04:05.500+00:00")
SEEN = Exchange(
    1, "2026-01-02T03:04:06.490+00:00", "POST", "/v1/chat/completions", "127.0.0.1", user_agent="curl/8", model="gpt",
    settings={"temperature": 0.5, "stream": True}, request_bytes=99, response_bytes=1234, status=200, images=2,
    first_byte_s=0.05, first_token_s=0.06, total_s=2.5, client_wait_s=0.25, gap_median_s=0.03, gap_p95_s=0.04,
    gap_longest_s=0.2, prompt_tokens=10, cached_tokens=4, evaluated_tokens=6, generated_tokens=40, reasoning_chunks=7,
    prompt_per_s=100.0, generation_per_s=20.0, slot=0, finish="stop", outcome="done", t_start=0.99)


@pytest.fixture
def session(database: Database) -> int:
    return database.start_session(START)


def request(number: int, **more: Any) -> Request:
    return Request(number, number, 0, 1.0, t_end=3.5, prompt_tokens=10, generated_tokens=40, generation_per_s=20.0,
                   ttft_s=0.25, status="done", **more)


def requests_view(database: Database) -> list[dict[str, Any]]:
    database.flush()
    names, rows = database.query("SELECT * FROM requests ORDER BY t_start, id")
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_an_exchange_comes_back_as_it_went_in(database: Database, session: int) -> None:
    database.row(session, replace(SEEN, outcome="active", total_s=None))
    database.row(session, SEEN)
    database.flush()
    assert database.session(session).exchanges == (SEEN,)


def test_texts_are_kept_apart_and_only_where_they_were_given(database: Database, session: int) -> None:
    database.row(session, SEEN)
    database.row(session, replace(SEEN, id=2, request_text='{"prompt": "hé"}', response_text="wörld"))
    database.flush()
    assert database.query("SELECT id, request, response FROM exchange_text")[1] == [(2, '{"prompt": "hé"}', "wörld")]
    assert database.session(session).exchanges[1].response_text == "wörld"
    database.delete(session)
    assert database.query("SELECT count(*) FROM exchange_text")[1] == [(0,)]


def test_a_request_shows_what_its_client_saw(database: Database, session: int) -> None:
    database.row(session, SEEN)
    database.row(session, request(1, exchange=1, image_ms=12.5))
    database.row(session, request(2))
    first, second = requests_view(database)
    assert {k: first[k] for k in ("endpoint", "client", "user_agent", "asked_model", "http_status", "finish_reason",
                                  "ttfb_ms", "ttft_ms", "client_ttft_ms", "client_total_ms", "client_wait_ms",
                                  "gap_median_ms", "gap_p95_ms", "gap_longest_ms", "images", "image_ms",
                                  "reasoning_chunks", "settings")} == {
        "endpoint": "/v1/chat/completions", "client": "127.0.0.1", "user_agent": "curl/8", "asked_model": "gpt",
        "http_status": 200, "finish_reason": "stop", "ttfb_ms": 50.0, "ttft_ms": 250.0, "client_ttft_ms": 60.0,
        "client_total_ms": 2500.0, "client_wait_ms": 250.0, "gap_median_ms": 30.0, "gap_p95_ms": 40.0,
        "gap_longest_ms": 200.0, "images": 2, "image_ms": 12.5, "reasoning_chunks": 7,
        "settings": '{"temperature": 0.5, "stream": true}'}
    assert (second["endpoint"], second["ttfb_ms"]) == (None, 250.0)


def test_an_exchange_that_became_no_request_is_counted_once(database: Database, session: int) -> None:
    refused = replace(SEEN, id=2, t_start=5.0, total_s=0.01, status=400, outcome="failed", generated_tokens=None,
                      error="too long")
    for row in (SEEN, refused, replace(SEEN, id=3, method="GET", path="/v1/models"),
                replace(SEEN, id=4, outcome="active"), request(1, exchange=1)):
        database.row(session, row)
    rows = requests_view(database)
    assert [(r["status"], r["exchange"], r["error"]) for r in rows] == [("done", 1, None), ("failed", 2, "too long")]
    assert len({r["id"] for r in rows}) == 2
