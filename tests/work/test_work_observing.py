"""What a run is held against: the estimate's own figures, and this profile's earlier answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fakedesk
import pytest

from paddock.fit.ceiling import Ceiling
from paddock.launch import Plan
from paddock.session import Request
from paddock.store import Database, SessionStart
from paddock.text import Text
from paddock.work.observing import expectation_of, past_of

START = SessionStart(("llama",), model_identity="m1", profile="Chat", engine="llama.cpp 11434")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "paddock.db") as made:
        yield made


def answered(database: Database, start: SessionStart, speed: float | None, context: int = 1100, tokens: int = 200,
             status: str = "done") -> int:
    session = database.start_session(start)
    database.request(session, Request(1, 1, 0, 0.0, 9.0, generated_tokens=tokens, generation_per_s=speed,
                                      context_used=context, status=status))
    database.flush()
    return session


def test_the_past_is_depth_at_the_middle_of_an_answer_and_its_speed(database: Database) -> None:
    answered(database, START, 48.0)
    now = database.start_session(START)
    assert past_of(database, now, START) == ((1000.0, 48.0),)


def test_only_the_same_model_profile_and_engine_count(database: Database) -> None:
    for other in (replace(START, model_identity="m2"), replace(START, profile=None), replace(START, engine="older")):
        answered(database, other, 48.0)
    assert past_of(database, database.start_session(START), START) == ()


def test_a_plan_without_a_profile_has_a_past_of_its_own(database: Database) -> None:
    plain = replace(START, profile=None)
    answered(database, plain, 31.0)
    assert past_of(database, database.start_session(plain), plain) == ((1000.0, 31.0),)


def test_cancelled_short_and_unmeasured_answers_are_no_past(database: Database) -> None:
    answered(database, START, 48.0, status="cancelled")
    answered(database, START, 48.0, tokens=3)
    answered(database, START, None)
    assert past_of(database, database.start_session(START), START) == ()


def test_a_session_is_not_its_own_past(database: Database) -> None:
    assert past_of(database, answered(database, START, 48.0), START) == ()


def test_the_estimate_says_where_weights_and_cache_should_lie() -> None:
    preview = fakedesk.preview()
    expected = expectation_of(preview, ((1.0, 2.0),))
    assert preview.estimate is not None
    assert dict(expected.model_bytes) == {d.name: d.model for d in preview.estimate.devices}
    assert dict(expected.context_bytes) == {d.name: d.context for d in preview.estimate.devices}
    assert expected.total_bytes["CUDA0"] == 24 << 30
    assert (expected.physical_cores, expected.logical_cores) == (16, 32)
    assert (expected.context_size, expected.slots) == (32768, 4)
    assert expected.past == ((1.0, 2.0),)


def test_an_adopted_server_is_not_held_against_an_estimate_made_beside_it() -> None:
    assert dict(expectation_of(fakedesk.preview(), placed=False).model_bytes) == {}


def test_values_that_mean_something_else_are_not_taken_as_counts() -> None:
    preview = replace(fakedesk.preview(), plan=Plan().with_("threads", -1).with_("ctx-size", 0))
    expected = expectation_of(preview)
    assert (expected.threads, expected.context_size, expected.draft_tokens) == (None, None, 3)


def test_a_ceiling_is_taken_only_without_a_draft() -> None:
    top = Ceiling(1.0, 2.0, Text("known"), 0, 80.0)
    preview = replace(fakedesk.preview(), ceiling=top, ceiling_full=replace(top, bound=60.0, depth=8192))
    assert expectation_of(preview).ceiling == (80.0, 60.0, 8192)
    assert preview.estimate is not None
    drafted = replace(preview, estimate=replace(preview.estimate, has_draft=True))
    assert expectation_of(drafted).ceiling is None


def test_a_draft_model_costs_its_share_of_the_bytes() -> None:
    big, small = fakedesk.layered_model("big", "/m/b.gguf", gib=10), fakedesk.layered_model("small", "/m/s.gguf", gib=1)
    preview = replace(fakedesk.preview(big), draft=small)
    assert expectation_of(preview).draft_share == pytest.approx(0.1, rel=0.01)
