"""Plans made for another engine."""

from __future__ import annotations

import pytest

from paddock.engine.model import Engine
from paddock.launch import check
from paddock.launch.migrating import migrated
from paddock.launch.model import Plan, Setting

REFUSED = ("removed-flag", "flag-too-new", "unknown-flag", "flag-never-existed")


def test_a_plan_that_the_engine_takes_is_not_touched(engine: Engine) -> None:
    plan = Plan().with_("ctx-size", "0").with_("spec-draft-n-max", "16").with_("mmap", on=False).without("mmap")
    assert migrated(plan, engine).plan is plan
    assert migrated(plan, engine).steps == ()


@pytest.mark.parametrize(("old", "option", "value"), [
    (Setting("--draft-max", ("16",)), "spec-draft-n-max", "16"), (Setting("--draft-min", ("0",)), "spec-draft-n-min",
                                                                  "0"),
    (Setting("mlock"), "load-mode", "mlock"), (Setting("mmap", (), False), "load-mode", "none")])
def test_what_was_meant_stays_under_todays_name_and_is_told(engine: Engine, old: Setting, option: str,
                                                           value: str) -> None:
    found = migrated(Plan((Setting("model", ("/m.gguf",)), old)), engine)
    assert found.plan.get(option) == value
    assert len(found.steps) == 1
    assert "became" in str(found.steps[0])
    assert value in str(found.steps[0])
    assert [issue.id for issue in check(found.plan, None, engine, None) if issue.id in REFUSED] == []


def test_what_the_plan_says_itself_is_not_overwritten(engine: Engine) -> None:
    plan = Plan((Setting("spec-draft-n-max", ("8",)), Setting("--draft-max", ("16",))))
    assert migrated(plan, engine).plan.get("spec-draft-n-max") in ("8", "16")
    assert len(migrated(Plan((Setting("mlock"), Setting("load-mode", ("dio",)))), engine).plan.settings) == 1


def test_what_has_no_other_name_stays_and_is_left_to_the_person(engine: Engine) -> None:
    plan = Plan((Setting("--no-such-flag", ("1",)), Setting("ctx-size", ("1",))))
    found = migrated(plan, engine)
    assert found.plan == plan
    assert [issue.id for issue in found.left] == ["unknown-flag"]


def test_a_plan_of_today_is_said_in_the_words_of_an_older_engine(older_engine: Engine, ancient_engine: Engine) -> None:
    plan = Plan((Setting("load-mode", ("mlock",)),))
    assert migrated(plan, older_engine).plan == plan
    old = migrated(plan, ancient_engine).plan
    assert old.is_on("mlock")
    assert migrated(old, older_engine).left == ()


@pytest.mark.parametrize(("on", "value"), [(True, "on"), (False, "off")])
def test_a_switch_that_takes_a_value_today_gets_it(engine: Engine, ancient_engine: Engine, on: bool,
                                                   value: str) -> None:
    plan = Plan((Setting("flash-attn", (), on), Setting("mlock", (), True)))
    found = migrated(plan, engine)
    assert found.plan.get("flash-attn") == value
    assert str(found.steps[0]) == f"-fa became -fa {value}."
    assert migrated(plan, ancient_engine).plan.find("flash-attn") == plan.find("flash-attn")
