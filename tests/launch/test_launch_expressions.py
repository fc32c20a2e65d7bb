"""Expressions of -ot that never end are told before anything tries to match them."""

from __future__ import annotations

import pytest

from paddock.launch.expressions import endless


@pytest.mark.parametrize("pattern", ["(a+)+", "(([a-z_.0-9])*)*X", "(?:a*b?)*", "((a+)b)+", "(a|b+){2,}$", r"(\(+)+"])
def test_a_repeated_repetition_is_endless(pattern: str) -> None:
    assert endless(pattern)


@pytest.mark.parametrize("pattern", [
    "exps", r"blk\.(1[0-9]|2[0-9])\.ffn_.*", r"\.ffn_(up|down|gate)_(ch|)exps", "(a+)", "(a+)b*", "(ab)+", "([+*])+",
    "([]+*])+", "([^]+*])+", r"(\+)*", "(a{2})*", "((", "a)+", "[", "\\", "", "(a+){2}", "[[:alpha:]]+"])
def test_what_people_write_is_not(pattern: str) -> None:
    assert not endless(pattern)
