"""The speed ceiling rests on what earlier sessions here reached, where there were some on the same devices."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paddock.fit import Budget
from paddock.fit.ceiling import Past, bandwidths, ceiling, reached
from paddock.fit.model import Known
from paddock.gguf import ModelFile
from paddock.launch import parse_argv

GIB, GB = 1 << 30, 10**9
MakeModel = Callable[..., ModelFile]
CARD = Budget("CUDA0", "cuda", 12 * GIB, 11 * GIB, description="NVIDIA GeForce RTX 3060")
OTHER = Budget("CUDA0", "cuda", 12 * GIB, 11 * GIB, description="NVIDIA something new")
PLAN = parse_argv(["-c", "8192"])


def past(part: float, model: ModelFile, card: Budget = CARD, text: str = "-c 8192", context: int = 0) -> Past:
    """A session that reached this part of the bound."""
    plan = parse_argv(text.split())
    found = ceiling(model, plan, [card], bandwidths([card], 40 * GB), context)
    return Past(plan, (card,), part * (found.bound or 0 if found else 0) or part * 100, context)


def test_the_range_is_what_the_sessions_reached_of_the_bound(llama: MakeModel) -> None:
    model, known = llama(), bandwidths([CARD], 40 * GB)
    some = reached(model, PLAN, [CARD], known, [past(0.5, model), past(0.7, model, context=4096)])
    assert some is not None
    assert (some.low, some.high, some.sessions) == (pytest.approx(0.5), pytest.approx(0.7), 2)
    plain, found = (ceiling(model, PLAN, [CARD], known, 2048, p) for p in (None, some))
    assert plain is not None
    assert found is not None
    assert found.bound == plain.bound
    assert (found.low, found.high) == (pytest.approx(0.5 * (plain.bound or 0)), pytest.approx(0.7 * (plain.bound or 0)))
    assert (found.known, found.sessions) == (Known.MEASURED, 2)
    assert str(found.basis) == "From 2 sessions of this model here, with 50 to 70 % of what memory allows."


def test_one_session_is_no_range_so_it_is_widened(llama: MakeModel) -> None:
    model = llama()
    some = reached(model, PLAN, [CARD], bandwidths([CARD], None), [past(0.6, model)])
    assert some is not None
    assert (some.low, some.high) == (pytest.approx(0.54), pytest.approx(0.66))


def test_another_context_and_cache_type_use_the_same_share(llama: MakeModel) -> None:
    model, known = llama(), bandwidths([CARD], None)
    some = reached(model, parse_argv(["-c", "32768", "-ctk", "q8_0"]), [CARD], known, [past(0.6, model)])
    assert some is not None
    assert some.high == pytest.approx(0.66)


@pytest.mark.parametrize("text", ["-c 8192 -ngl 2", "-c 8192 -dev none"])
def test_sessions_that_read_from_other_devices_say_nothing(llama: MakeModel, text: str) -> None:
    model, known = llama(), bandwidths([CARD], 40 * GB)
    assert reached(model, parse_argv(text.split()), [CARD], known, [past(0.6, model)]) is None
    assert reached(model, PLAN, [CARD], known, [past(0.6, model, text=text)]) is None
    assert reached(model, PLAN, [OTHER], known, [past(0.6, model)]) is None
    assert reached(model, PLAN, [CARD], known, []) is None


def test_a_card_without_a_figure_is_known_by_its_sessions(llama: MakeModel) -> None:
    model, known = llama(), bandwidths([OTHER], None)
    before = ceiling(model, PLAN, [OTHER], known, 0)
    assert before is not None
    assert before.low is None
    some = reached(model, PLAN, [OTHER], known, [Past(PLAN, (OTHER,), 80.0, 0), Past(PLAN, (OTHER,), 100.0, 0)])
    found = ceiling(model, PLAN, [OTHER], known, 0, some)
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(80.0), pytest.approx(100.0))
    assert found.bound is None, "what the sessions themselves made up is no bound to be compared with"
    assert str(found.basis) == "From 2 sessions of this model here."


def test_two_unknown_bandwidths_cannot_be_told_apart(llama: MakeModel) -> None:
    model, known = llama(), bandwidths([OTHER], None)
    plan = parse_argv(["-c", "8192", "-ngl", "2"])
    assert reached(model, plan, [OTHER], known, [Past(plan, (OTHER,), 80.0, 0)]) is None
