"""What differs between two plans."""

from __future__ import annotations

import pytest

from paddock.launch.comparing import changes, undone
from paddock.launch.model import Plan, Setting

BEFORE = Plan((Setting("ctx-size", ("0",)), Setting("override-tensor", ("a=CPU",)), Setting("override-tensor",
              ("b=CPU",)), Setting("mlock"), Setting("temp", ("",))), (("A", "1"), ("B", "")), ("nice",), "one")
AFTER = Plan((Setting("ctx-size", ("8192",)), Setting("override-tensor", ("a=CPU",)), Setting("temp", ("",)),
              Setting("jinja", (), False)), (("A", "2"),), (), None)


def test_only_what_differs_is_named() -> None:
    assert [(c.kind, c.option) for c in changes(BEFORE, AFTER)] == [
        ("option", "ctx-size"), ("option", "override-tensor"), ("option", "jinja"), ("option", "mlock"),
        ("variable", "A"), ("variable", "B"), ("prefix", "prefix"), ("engine", "engine")]
    assert changes(BEFORE, BEFORE) == []


@pytest.mark.parametrize("index", range(8))
def test_each_difference_is_taken_back_alone_with_all_its_repetitions(index: int) -> None:
    found = changes(BEFORE, AFTER)
    plan = undone(AFTER, found[index])
    assert [(c.kind, c.option) for c in changes(BEFORE, plan)] == [
        (c.kind, c.option) for i, c in enumerate(found) if i != index]


def test_taking_all_back_gives_the_first_plan() -> None:
    plan = AFTER
    for change in changes(BEFORE, AFTER):
        plan = undone(plan, change)
    assert changes(BEFORE, plan) == []
