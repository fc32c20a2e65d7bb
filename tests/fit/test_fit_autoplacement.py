"""Auto placement: it fits, it fills the cards, and it keeps what is pinned."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from fittruth import Truth

from paddock.fit import Budget, Verdict, estimate
from paddock.fit.autoplacement import Placed, auto_place, gpu_weights
from paddock.fit.dividing import Division, Layer
from paddock.fit.prediction import predict_fit
from paddock.launch import Plan, parse_argv
from paddock.units import GIB

REAL = ("deepseek-v3-q4km.gguf", "gemma-3-27b-q4km.gguf", "glm-4.5-air-q4km.gguf", "gpt-oss-20b-mxfp4.gguf",
        "llama-3.1-8b-q4km.gguf", "llama-3.3-70b-q4km.gguf", "qwen2.5-coder-0.5b-q8.gguf", "qwen2.5-coder-7b-q4km.gguf",
        "qwen3-30b-a3b-q4km.gguf")
MACHINES = ((8,), (12,), (16,), (24,), (24, 24), (24, 12), (80,))
RAM: dict[str, Any] = {"host_total": 1024 * GIB, "host_free": 1000 * GIB}


def cards(*sizes: int, kind: str = "cuda") -> list[Budget]:
    return [Budget(f"{kind.upper()}{i}", kind, s * GIB, s * GIB) for i, s in enumerate(sizes)]


def placed(truth: Truth, model: str, sizes: tuple[int, ...], *flags: str, kind: str = "cuda",
           pinned: tuple[str, ...] = ("ctx-size",)) -> Placed:
    plan = parse_argv(["-c", "8192", *flags])
    return auto_place(truth.model(model), plan, cards(*sizes, kind=kind), pinned=pinned, **RAM)


@pytest.mark.parametrize("model", REAL)
@pytest.mark.parametrize("sizes", MACHINES, ids=str)
def test_every_model_fits_every_machine(truth: Truth, model: str, sizes: tuple[int, ...]) -> None:
    found = placed(truth, model, sizes)
    assert found.estimate.verdict is Verdict.FITS
    assert found.plan.integer("ctx-size") == 8192
    assert found.plan.find("cache-type-k") is None
    again = estimate(truth.model(model), found.plan, cards(*sizes), **RAM)
    assert [d.total for d in again.devices] == [d.total for d in found.estimate.devices]


@pytest.mark.parametrize("model", ["qwen3-30b-a3b-q4km.gguf", "gpt-oss-20b-mxfp4.gguf", "llama-3.3-70b-q4km.gguf",
                                   "gemma-3-27b-q4km.gguf"])
@pytest.mark.parametrize("sizes", [*MACHINES, (16, 8), (8, 8)], ids=str)
def test_the_cards_hold_at_least_what_the_engine_s_own_fit_would_put_there(
        truth: Truth, model: str, sizes: tuple[int, ...]) -> None:
    plan, budgets = parse_argv(["-c", "8192"]), cards(*sizes, kind="rpc")
    theirs = predict_fit(truth.model(model), plan, budgets, host_total=RAM["host_total"])
    assert theirs.plan is not None
    there = estimate(truth.model(model), theirs.plan, budgets, **RAM)
    assert placed(truth, model, sizes, kind="rpc").gpu_weights >= gpu_weights(there)


@pytest.mark.parametrize("model", ["glm-4.5-air-q4km.gguf", "deepseek-v3-q4km.gguf", "gemma-3-27b-q4km.gguf"])
@pytest.mark.parametrize("kind", ["cuda", "rpc"])
@pytest.mark.parametrize("flags", [(), ("-np", "1")], ids=str)
@pytest.mark.parametrize("sizes", MACHINES, ids=str)
def test_so_they_do_with_mtp_layers_other_backends_and_slots(
        truth: Truth, model: str, kind: str, flags: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    """Unless what --fit makes does not fit: its second device may get more than it has."""
    plan, budgets = parse_argv(["-c", "8192", *flags]), cards(*sizes, kind=kind)
    theirs = predict_fit(truth.model(model), plan, budgets, host_total=RAM["host_total"])
    assert theirs.plan is not None
    there = estimate(truth.model(model), theirs.plan, budgets, **RAM)
    found = placed(truth, model, sizes, *flags, kind=kind)
    assert there.verdict is Verdict.WONT_FIT or found.gpu_weights >= gpu_weights(there)
    assert found.estimate.verdict is Verdict.FITS


@pytest.mark.parametrize("sizes", [((4, 4, 7), (4, 4, 7), (4, 4, 7), (3, 3, 3), (3, 3, 3)), ((5, 9), (5, 9), (2, 2)),
                                   ((6,), (6,), (6,)), ((1, 2), (3, 4), (5, 6), (7, 8))])
def test_no_choice_of_whole_layers_and_two_divided_ones_keeps_more(sizes: tuple[tuple[int, ...], ...]) -> None:
    layers = [Layer(1, 0, tuple((f"{i}.{k}", size) for k, size in enumerate(one))) for i, one in enumerate(sizes)]
    every = [(i, k) for i, one in enumerate(sizes) for k in range(len(one))]
    total = sum(map(sum, sizes))
    for room in range(len(layers), len(layers) + total):
        found = Division(layers, (room,)).solved(0)
        off = sum(sum(sizes[i]) for i in found.off) + sum(sizes[int(n.split(".")[0])][int(n.split(".")[1])]
                                                          for n in found.parts)
        over = len(layers) + total - room
        least = min(sum(sizes[i][k] for i, k in some) for n in range(len(every) + 1) for some in combinations(every, n)
                    if sum(sizes[i][k] for i, k in some) >= over and _divided(some, sizes) <= 2)
        if len(set(sizes)) <= 3:
            assert off == least, room
        assert off >= over


def _divided(some: tuple[tuple[int, int], ...], sizes: tuple[tuple[int, ...], ...]) -> int:
    """Layers of which a part is among these tensors."""
    counts = [sum(1 for i, _ in some if i == layer) for layer in range(len(sizes))]
    return sum(0 < n < len(sizes[layer]) for layer, n in enumerate(counts))


def test_what_fits_is_left_alone(truth: Truth) -> None:
    assert placed(truth, "llama-3.1-8b-q4km.gguf", (24,)).plan == parse_argv(["-c", "8192"])


def test_the_experts_of_both_cards_are_relieved_not_only_the_first_s(truth: Truth) -> None:
    found = placed(truth, "glm-4.5-air-q4km.gguf", (24, 12))
    assert found.plan.find("tensor-split") is not None
    for device, size in zip(found.estimate.devices, (24, 12), strict=False):
        assert device.left is not None
        assert 1 * GIB <= device.left < 1.5 * GIB, size


def test_a_dense_model_s_split_follows_the_bytes_that_are_free(truth: Truth) -> None:
    found = placed(truth, "llama-3.3-70b-q4km.gguf", (24, 12))
    first, second = (int(n) for n in (found.plan.get("tensor-split") or "").split(","))
    assert first > 2 * second
    assert first + second == found.plan.integer("gpu-layers")


def test_four_cards_share_a_model(truth: Truth) -> None:
    found = placed(truth, "glm-4.5-air-q4km.gguf", (24, 24, 24, 24))
    assert found.estimate.verdict is Verdict.FITS
    assert found.gpu_weights > 71 * GIB


@pytest.mark.parametrize(("flags", "option"), [
    (("-ngl", "20"), "gpu-layers"), (("-ncmoe", "40"), "n-cpu-moe"), (("-ts", "1,1"), "tensor-split"),
    (("-ctk", "f16", "-ctv", "f16"), "cache-type-k"), (("-ub", "1024"), "ubatch-size")])
def test_what_is_pinned_stays(truth: Truth, flags: tuple[str, ...], option: str) -> None:
    found = placed(truth, "glm-4.5-air-q4km.gguf", (24, 24), *flags, pinned=("ctx-size", option))
    assert found.plan.get(option) == parse_argv(list(flags)).get(option)
    assert found.estimate.verdict is Verdict.FITS


def test_an_old_placement_that_is_not_pinned_goes(truth: Truth) -> None:
    found = placed(truth, "llama-3.1-8b-q4km.gguf", (24,), "-ngl", "3", "-ot", "ffn=CPU")
    assert found.plan == parse_argv(["-c", "8192"])


def test_an_open_context_is_as_long_as_costs_no_weights(truth: Truth) -> None:
    model, budgets = truth.model("llama-3.1-8b-q4km.gguf"), cards(8)
    found = auto_place(model, Plan(), budgets, **RAM)
    most = found.plan.integer("ctx-size")
    assert found.estimate.verdict is Verdict.FITS
    assert most is not None
    assert 8192 < most < 131072
    assert found.gpu_weights == auto_place(model, parse_argv(["-c", "8192"]), budgets, **RAM).gpu_weights
    assert estimate(model, found.plan.with_("ctx-size", most + 1024), budgets, **RAM).verdict is not Verdict.FITS


def test_cache_types_and_context_give_way_only_where_nothing_else_helps(truth: Truth) -> None:
    model, small = truth.model("llama-3.1-8b-q4km.gguf"), {"host_total": 8 * GIB, "host_free": 8 * GIB}
    plan = parse_argv(["-c", "131072", "-cram", "0"])
    found = auto_place(model, plan, cards(8), **small)
    assert found.estimate.verdict is Verdict.FITS
    assert found.plan.get("cache-type-k") == "q8_0"
    pinned = ("ctx-size", "cache-type-k", "cache-type-v", "ubatch-size")
    kept = auto_place(model, plan, cards(8), pinned=pinned, **small)
    assert kept.plan.get("cache-type-k") is None
    assert kept.plan.integer("ctx-size") == 131072


def test_no_device_leaves_the_plan_as_it_is(truth: Truth) -> None:
    plan = parse_argv(["-c", "8192"])
    assert auto_place(truth.model("llama-3.1-8b-q4km.gguf"), plan, [], pinned=("ctx-size",), **RAM).plan == plan


def test_a_division_keeps_the_order_and_fills_both_rooms() -> None:
    layers = [Layer(10, 1, (("up", 30), ("down", 40))) for _ in range(6)] + [Layer(20, 0)]
    found = Division(layers, (200, 150)).solved()
    assert found.start == 0
    assert found.borders[-1] == 7
    assert sum(found.counts) == 7
    kept = sum(one.lean + one.expert_bytes for one in layers) - 70 * len(found.off) - 30 * found.parts.count("up") \
        - 40 * found.parts.count("down")
    assert kept >= 200 + 150 - 2 * 30 - 6


def test_layers_that_do_not_fit_even_without_experts_stay_in_front() -> None:
    layers = [Layer(10, 5) for _ in range(10)] + [Layer(20, 0)]
    found = Division(layers, (60,)).solved()
    assert found.start == 8
    assert found.counts == (3,)
