"""Engines of other builds: their compute buffers follow rules that nobody has checked to the byte."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paddock.errors import AppError
from paddock.fit import Budget, estimate
from paddock.fit.answers import answer
from paddock.fit.builds import KNOWN, NEWER, OLDER, rules_of
from paddock.fit.model import Estimate, Known, Term
from paddock.gguf import ModelFile
from paddock.launch.parsing import parse_argv

GIB = 1 << 30
CARD = Budget("RPC0", "rpc", 24 * GIB, 20 * GIB)
PLAN = parse_argv(["-c", "4096"])


@pytest.fixture
def compute(llama: Callable[..., ModelFile]) -> Callable[..., tuple[Estimate, Term]]:
    def made(rules: str, card: Budget = CARD) -> tuple[Estimate, Term]:
        found = estimate(llama(), PLAN, [card], host_free=60 * GIB, rules=rules)
        return found, next(t for t in found.devices[0].terms if t.id == "compute")

    return made


def test_the_known_build_is_exact(compute: Callable[..., tuple[Estimate, Term]]) -> None:
    found, term = compute(KNOWN)
    assert (term.low, term.high) == (term.bytes, term.bytes)
    assert found.rules == "11434"


@pytest.mark.parametrize(("rules", "low", "high"), [(OLDER, 0.5, 1.25), (NEWER, 0.75, 1.25)])
def test_another_build_has_the_same_figures_with_a_band_and_says_why(
        compute: Callable[..., tuple[Estimate, Term]], rules: str, low: float, high: float) -> None:
    exact, same = compute(KNOWN)
    found, term = compute(rules)
    assert term.bytes == same.bytes
    assert (term.low, term.high) == (int(term.bytes * low), int(term.bytes * high))
    assert term.known is Known.REPORTS
    assert f"this engine is {rules}" in str(found.notes[0])
    for other in ("weights", "kv"):
        terms = [next(t for t in e.devices[0].terms if t.id == other) for e in (exact, found)]
        assert terms[0] == terms[1]


def test_the_verdict_uses_the_upper_edge(compute: Callable[..., tuple[Estimate, Term]]) -> None:
    exact, term = compute(KNOWN)
    margin, needed = exact.devices[0].margin, exact.devices[0].total
    tight = Budget("RPC0", "rpc", 24 * GIB, needed + margin + term.bytes // 8)
    assert compute(KNOWN, tight)[0].verdict.value == "fits"
    full = Budget("RPC0", "rpc", 24 * GIB, needed + term.bytes // 8)
    assert compute(OLDER, full)[0].verdict.value in ("tight", "wont_fit")


def test_a_build_is_told_by_its_number() -> None:
    assert [rules_of(b) for b in (None, "", 11434, "b11434", "10434", 12000)] == [
        KNOWN, KNOWN, KNOWN, KNOWN, OLDER, NEWER]
    with pytest.raises(AppError, match="no build"):
        rules_of("newest")


def test_a_request_line_may_name_the_build(llama: Callable[..., ModelFile]) -> None:
    request = {"id": 1, "devices": [{"name": "RPC0", "kind": "rpc", "total": 24 * GIB, "free": 20 * GIB}]}
    plain, older = (answer({**request, **more}, llama(), PLAN) for more in ({}, {"rules": "10434"}))
    assert older["main"] == plain["main"]
    assert any("is older" in note for note in older["notes"])
    assert not any("is older" in note for note in plain["notes"])
