"""Settings for a use case, each with its reason."""

from __future__ import annotations

import pytest
from launch_support import model_file

from paddock.engine.model import Engine
from paddock.errors import AppError
from paddock.gguf.model import Kind
from paddock.hardware.model import Machine
from paddock.launch import Severity, check
from paddock.launch.model import Plan, Setting
from paddock.launch.use_cases import USE_CASES, UseCase, suggest, use_case

MODEL = model_file(name="Test 7B", trained_context=32768, key_length=128, has_template=True, template_has_tools=True)
MACHINE = Machine("Linux", "cpu", 8, 16, 1 << 36, 1 << 35, 1, 0.1, ())
PLAN = Plan((Setting("model", ("/m/a.gguf",)),))


def ids(case: UseCase) -> str:
    return case.id


@pytest.mark.parametrize("case", USE_CASES, ids=ids)
def test_every_setting_has_a_reason_and_is_taken_by_the_engine(case: UseCase, engine: Engine) -> None:
    model = {"embedding": model_file(kind=Kind.EMBEDDING, trained_context=8192),
             "reranking": model_file(kind=Kind.RERANKER, trained_context=8192)}.get(case.id, MODEL)
    found = suggest(case, PLAN, model, engine, MACHINE)
    assert found.made
    assert all(str(wish.reason).endswith(".") for wish in (*found.made, *found.same))
    issues = check(found.plan(), model, engine, MACHINE)
    assert [issue for issue in issues if issue.severity is Severity.ERROR and issue.id != "model-missing"] == []
    assert suggest(case, found.plan(), model, engine, MACHINE).made == ()


@pytest.mark.parametrize("case", USE_CASES, ids=ids)
def test_an_older_engine_is_asked_only_for_what_it_has(case: UseCase, ancient_engine: Engine) -> None:
    found = suggest(case, PLAN, MODEL, ancient_engine, MACHINE)
    issues = check(found.plan(), MODEL, ancient_engine, MACHINE)
    assert [i for i in issues if i.id in ("unknown-flag", "removed-flag", "flag-too-new")] == []
    assert all(str(one.reason) for one in found.skipped)


@pytest.mark.parametrize("case", USE_CASES, ids=ids)
def test_no_more_context_than_the_model_was_trained_for(case: UseCase, engine: Engine) -> None:
    small = model_file(trained_context=2048)
    plan = suggest(case, PLAN, small, engine, MACHINE).plan()
    slots = plan.integer("parallel") or 1
    assert (plan.integer("ctx-size") or 0) <= 2048 * slots
    assert (plan.integer("ubatch-size") or 0) <= 2048


def test_one_part_can_be_taken_alone(engine: Engine) -> None:
    found = suggest(use_case("creative"), PLAN, MODEL, engine, MACHINE)
    assert found.plan(["temp"]) == PLAN.with_("temp", "1")
    assert found.plan([]) == PLAN


def test_what_is_so_already_is_said_apart(engine: Engine) -> None:
    found = suggest(use_case("creative"), PLAN.with_("temp", "1"), MODEL, engine, MACHINE)
    assert [wish.option for wish in found.same] == ["temp"]
    assert "temp" not in [wish.option for wish in found.made]


def test_options_without_effect_on_this_model_are_left_out_with_the_reason(engine: Engine) -> None:
    windowed = model_file(trained_context=32768, sliding_window=1024)
    assert "cache-reuse" not in [w.option for w in suggest(use_case("chat"), PLAN, windowed, engine, MACHINE).made]
    off = PLAN.with_("flash-attn", "off")
    found = suggest(use_case("long-context"), off, MODEL, engine, MACHINE)
    assert [(one.wish.option, "flash attention" in str(one.reason)) for one in found.skipped] == [
        ("cache-type-v", True)]


def test_a_head_that_no_block_divides_keeps_its_cache(engine: Engine) -> None:
    found = suggest(use_case("long-context"), PLAN, model_file(trained_context=4096, key_length=80), engine, MACHINE)
    assert not {"cache-type-k", "cache-type-v"} & {w.option for w in found.made}


def test_speculation_needs_the_layers_or_takes_the_context(engine: Engine) -> None:
    mtp = model_file(trained_context=4096, nextn_layers=1)
    assert suggest(use_case("single-user"), PLAN, mtp, engine, MACHINE).plan().get("spec-type") == "draft-mtp"
    assert suggest(use_case("single-user"), PLAN, MODEL, engine, MACHINE).plan().get("spec-type") == "ngram-mod"
    own = PLAN.with_("spec-draft-model", "/d.gguf").with_("spec-type", "draft-simple")
    assert suggest(use_case("single-user"), own, MODEL, engine, MACHINE).plan().get("spec-type") == "draft-simple"
    assert suggest(use_case("many-users"), own, MODEL, engine, MACHINE).plan().find("spec-type") is None


def test_one_use_case_after_another_does_not_leave_a_server_of_vectors(engine: Engine) -> None:
    vectors = suggest(use_case("embedding"), PLAN, MODEL, engine, MACHINE).plan()
    assert vectors.is_on("embedding")
    assert suggest(use_case("chat"), vectors, MODEL, engine, MACHINE).plan().find("embedding") is None
    ranked = suggest(use_case("reranking"), vectors, MODEL, engine, MACHINE).plan()
    assert ranked.is_on("rerank")
    assert ranked.find("embedding") is None


@pytest.mark.parametrize(("id", "kind", "word"), [
    ("embedding", Kind.MODEL, "not made for embeddings"), ("reranking", Kind.EMBEDDING, "not made for reranking"),
    ("chat", Kind.EMBEDDING, "numbers"), ("embedding", Kind.EMBEDDING, "--pooling")])
def test_a_model_made_for_something_else_is_said(engine: Engine, id: str, kind: Kind, word: str) -> None:
    notes = suggest(use_case(id), PLAN, model_file(kind=kind), engine, MACHINE).notes
    assert any(word in str(note) for note in notes)


def test_a_template_without_tools_is_said(engine: Engine) -> None:
    assert "tools" in str(suggest(use_case("tools"), PLAN, model_file(), engine, MACHINE).notes[0])
    assert suggest(use_case("tools"), PLAN, MODEL, engine, MACHINE).notes == ()


def test_without_model_and_engine_there_is_still_a_suggestion() -> None:
    assert suggest(use_case("chat"), Plan(), None, None, None).plan().get("ctx-size") == "16384"


def test_a_name_that_is_none_names_those_that_are() -> None:
    with pytest.raises(AppError, match="long-context"):
        use_case("gaming")
    assert use_case(" Chat ").id == "chat"
