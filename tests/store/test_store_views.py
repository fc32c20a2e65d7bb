"""The views and functions for people who write SQL, and the README's own queries."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paddock.errors import AppError
from paddock.hardware.model import DeviceReading, Reading
from paddock.launch.model import Plan, Setting
from paddock.session import Request, Sample, SlotSample
from paddock.store import Database, SessionStart

NAN = math.nan
MIB = 1 << 20
README = Path(__file__).parents[2] / "README.md"
PLAN = Plan((Setting("ctx-size", ("8192",)), Setting("batch-size", ("1024",))))
DRAFTED = Plan((*PLAN.settings, Setting("spec-type", ("draft-simple",)), Setting("spec-draft-model", ("/m/d.gguf",))))
ACTUAL = {"n_ctx_slot": 8192, "main": [{"name": "CUDA0", "model": 9, "context": 64 * MIB, "compute": 1},
                                       {"name": "Host", "model": 9, "context": 0, "compute": 1}],
          "draft": [{"name": "CUDA0", "model": 9, "context": 16 * MIB, "compute": 1}]}


def start(plan: Plan | None, **more: Any) -> SessionStart:
    return replace(SessionStart(("llama-server",), {}, model="m", plan=plan,
                                start_utc="2026-01-02T03:04:05.500+00:00"), **more)


def card(name: str, used: float) -> DeviceReading:
    return DeviceReading(name, used, 5.0, 8.0, 50.0, NAN, 1500.0, 900.0, 100.0, 60.0, NAN, NAN, ())


def reading(t: float, *cards: DeviceReading) -> Reading:
    return Reading(t, 12.0, 100.0 * MIB, 200.0, 0.0, 95.0, 50.0, cards)


def sample(t: float, at: Reading | None = None, limit: float = 4096.0) -> Sample:
    slot = SlotSample(0, True, "generating", 3, 100.0 + t, limit, 50.0, t, 20.0, NAN, NAN)
    return Sample(t, 20.0, NAN, 100.0, 1.0, 0.0, NAN, (slot,), at, True)


def request(number: int, tps: float = 20.0, **more: Any) -> Request:
    return Request(number, number, 0, 1.0, t_end=3.5, prompt_tokens=10, generated_tokens=40, generation_per_s=tps,
                   ttft_s=0.25, context_used=50, status="done", **more)


def rows(database: Database, sql: str) -> list[dict[str, Any]]:
    database.flush()
    names, found = database.query(sql)
    return [dict(zip(names, row, strict=True)) for row in found]


@pytest.fixture
def filled(database: Database) -> Database:
    """A plain session, a drafted one with a slow request, and one that was only watched."""
    plain, drafted, watched = (database.start_session(start(p)) for p in (PLAN, DRAFTED, None))
    for session in (plain, drafted):
        database.actual(session, ACTUAL)
    database.sample(plain, sample(1.0, reading(1.0, card("CUDA0", 10.0 * MIB), card("CUDA1", 30.0 * MIB))))
    database.sample(plain, sample(2.0))
    database.sample(plain, sample(3.0, reading(3.0, card("CUDA0", 20.0 * MIB), card("CUDA1", 30.0 * MIB))))
    database.sample(plain, sample(9.0, reading(9.0, card("CUDA0", NAN), card("CUDA1", NAN))))
    database.sample(watched, sample(1.0))
    for number in range(1, 13):
        database.request(plain, request(number))
        database.request(drafted, request(number, 5.0 if number == 12 else 30.0, draft_tokens=10, accepted_tokens=7))
    database.request(watched, request(1))
    database.flush()
    return database


def test_a_request_has_everyday_names(filled: Database) -> None:
    first = rows(filled, "SELECT * FROM requests ORDER BY id LIMIT 1")[0]
    assert {k: first[k] for k in ("id", "timestamp", "model", "prompt_tokens", "generated_tokens", "total_latency_ms",
                                  "ttfb_ms", "tps", "mtp_enabled", "context_size", "context_used", "batch_size",
                                  "acceptance_rate", "draft_model", "status")} == {
        "id": 1000001, "timestamp": "2026-01-02T03:04:06.500+00:00", "model": "m", "prompt_tokens": 10,
        "generated_tokens": 40, "total_latency_ms": 2500.0, "ttfb_ms": 250.0, "tps": 20.0, "mtp_enabled": 0,
        "context_size": 8192, "context_used": 50, "batch_size": 1024, "acceptance_rate": None, "draft_model": None,
        "status": "done"}


def test_speculation_is_told_from_the_plan_and_from_the_drafted_tokens(filled: Database) -> None:
    found = rows(filled, "SELECT DISTINCT mtp_enabled, draft_model, acceptance_rate FROM requests ORDER BY session_id")
    assert found == [{"mtp_enabled": 0, "draft_model": None, "acceptance_rate": None},
                     {"mtp_enabled": 1, "draft_model": "/m/d.gguf", "acceptance_rate": 0.7},
                     {"mtp_enabled": None, "draft_model": None, "acceptance_rate": None}]
    more = filled.start_session(start(PLAN.with_("spec-type", "none")))
    again = filled.start_session(start(Plan((Setting("spec-type", ("ngram-mod",)), Setting("spec-type", ("none",))))))
    told = filled.start_session(start(PLAN, environment={"LLAMA_ARG_SPEC_TYPE": "draft-mtp"}))
    for session in (more, again, told):
        filled.request(session, request(1))
    found = rows(filled, f"SELECT mtp_enabled FROM requests WHERE session_id >= {more} ORDER BY session_id")
    assert [r["mtp_enabled"] for r in found] == [0, 1, 1]


def test_a_watched_server_tells_its_context_by_the_slot(filled: Database) -> None:
    assert rows(filled, "SELECT context_size, batch_size FROM requests ORDER BY id DESC LIMIT 1") == [
        {"context_size": 4096, "batch_size": None}]


def test_a_reading_sums_the_cards_of_its_moment(filled: Database) -> None:
    found = rows(filled, "SELECT * FROM system_metrics ORDER BY id")
    assert [(r["t"], r["gpu_mem_used_mb"]) for r in found] == [(1.0, 40.0), (3.0, 50.0), (9.0, None)]
    assert {k: found[0][k] for k in ("id", "timestamp", "gpu_util_percent", "cpu_load_avg", "ram_used_mb",
                                     "kv_cache_mb", "kv_reserved_mb", "gpu_power_w")} == {
        "id": 10000001000, "timestamp": "2026-01-02T03:04:06.500+00:00", "gpu_util_percent": 50.0,
        "cpu_load_avg": 12.0, "ram_used_mb": 100.0, "kv_cache_mb": 80.0 * 100.0 / 8192.0, "kv_reserved_mb": 80.0,
        "gpu_power_w": 200.0}


def test_spread_and_percentiles_are_there_as_aggregates_and_over_windows(database: Database) -> None:
    numbers = "(SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 4 UNION ALL SELECT NULL UNION ALL SELECT 'a')"
    found = database.query(f"SELECT stddev(x), median(x), percentile(x, 0), percentile(x, 90), percentile(x, 100) "
                           f"FROM {numbers}")[1][0]
    assert found == pytest.approx((1.5275252316519468, 2.0, 1.0, 3.6, 4.0))
    assert database.query(f"SELECT stddev(x), median(x), percentile(x, 50) FROM {numbers} WHERE x > 9 AND x < 0")[1] \
        == [(None, None, None)]
    moving = database.query(f"SELECT median(x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM {numbers} WHERE x < 9")[1]
    assert moving == [(1.0,), (1.5,), (3.0,)]


@pytest.mark.parametrize(("sql", "says"), [
    ("SELECT stdev(tps) FROM requests", "Write stddev instead"),
    ("SELECT percentile_cont(0.5) FROM requests", "Write percentile instead"),
    ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY tps) FROM requests", "percentile(x, p), p from 0 to 100"),
    ("SELECT percentile(tps, 900) FROM (SELECT 1 AS tps)", "percentile(x, p), p from 0 to 100"),
    ("SELECT percentile(tps) FROM requests", "percentile(x, p), p from 0 to 100"),
    ("DELETE FROM session", "reading only"),
])
def test_other_spellings_are_answered_by_a_hint(database: Database, sql: str, says: str) -> None:
    with pytest.raises(AppError) as caught:
        database.query(sql)
    assert says in str(caught.value.hint)


def readme_queries() -> list[str]:
    section = README.read_text(encoding="utf-8").partition("\n## SQL\n")[2].partition("\n## ")[0]
    return re.findall(r"```sql\n(.*?)```", section, re.DOTALL)


def test_the_five_queries_of_the_readme_answer(filled: Database) -> None:
    speculative, context, anomalies, acceptance, export = (rows(filled, sql) for sql in readme_queries())
    assert [(r["mtp_enabled"], r["requests"], r["median_tps"]) for r in speculative] == [
        (None, 1, 20.0), (0, 12, 20.0), (1, 12, 30.0)]
    assert [(r["context_size"], r["requests"], r["gpu_mem_used_mb"], r["kv_cache_mb"]) for r in context] == [
        (8192, 12, 50.0, 1.0)]
    assert [(r["id"], r["tps"]) for r in anomalies] == [(2000012, 5.0)]
    assert [(r["acceptance"], r["requests"]) for r in acceptance] == [(0.7, 12)]
    assert len(export) == 25
