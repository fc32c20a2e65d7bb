"""What --fit will do, held against what llama-server b11434 did with the recorded models on two RPC devices."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fittruth import Truth

from paddock.fit.model import Budget
from paddock.fit.prediction import FitAction, FitPrediction, predict_fit
from paddock.fit.trials import most_within
from paddock.gguf import ModelFile
from paddock.launch import Plan, parse_argv
from paddock.units import GIB, MIB

MakeModel = Callable[..., ModelFile]

FREE = 24105 * MIB
"""What both devices had free when llama-server was asked; smaller cards are margins (-fitt) there and here."""


def predicted(truth: Truth, model: str, sizes: tuple[int, ...], *flags: str) -> FitPrediction:
    margins = ",".join("1024" if s > 23 else str(24105 - s * 1024 + 1024) for s in sizes)
    budgets = [Budget(f"RPC{i}", "rpc", FREE, FREE) for i in range(len(sizes))]
    plan = parse_argv(["-fitt", margins, "--no-repack", *flags])
    return predict_fit(truth.model(model), plan, budgets, host_total=FREE)


@pytest.mark.parametrize(("model", "sizes", "context"), [
    ("llama-3.1-8b-q4km.gguf", (8,), 20992), ("llama-3.1-8b-q4km.gguf", (12,), 53504),
    ("llama-3.1-8b-q4km.gguf", (16,), 86016), ("gemma-3-27b-q4km.gguf", (24,), 67840)])
def test_an_open_context_is_shortened_as_the_engine_did(truth: Truth, model: str, sizes: tuple[int, ...],
                                                       context: int) -> None:
    found = predicted(truth, model, sizes)
    assert found.action is FitAction.CONTEXT
    assert found.context == context
    assert found.plan is not None
    assert found.plan.integer("ctx-size") == context


@pytest.mark.parametrize(("model", "sizes", "flags", "layers", "partial"), [
    ("gemma-3-27b-q4km.gguf", (8,), ("-c", "8192"), (22,), 0),
    ("gemma-3-27b-q4km.gguf", (16, 8), ("-c", "8192"), (41, 22), 0),
    ("gemma-3-27b-q4km.gguf", (16, 8), (), (45, 18), 0),
    ("llama-3.3-70b-q4km.gguf", (24, 12), ("-c", "8192"), (44, 20), 0),
    ("llama-3.3-70b-q4km.gguf", (16,), (), (29,), 0),
    ("qwen3-30b-a3b-q4km.gguf", (8,), ("-c", "8192"), (49,), 34),
    ("qwen3-30b-a3b-q4km.gguf", (16,), (), (49,), 9),
    ("qwen3-30b-a3b-q4km.gguf", (16, 8), (), (35, 14), 1),
    ("glm-4.5-air-q4km.gguf", (24,), ("-c", "8192"), (47,), 35),
    ("glm-4.5-air-q4km.gguf", (24, 12), ("-c", "8192"), (14, 33), 29),
])
def test_layers_and_experts_are_placed_as_the_engine_did(
        truth: Truth, model: str, sizes: tuple[int, ...], flags: tuple[str, ...], layers: tuple[int, ...],
        partial: int) -> None:
    found = predicted(truth, model, sizes, *flags)
    assert found.action is FitAction.PLACEMENT
    assert found.gpu_layers == sum(layers)
    assert found.tensor_split == (layers if len(layers) > 1 else ())
    assert len(found.overrides) == partial


def test_two_cards_get_a_context_that_leaves_room_for_whole_layers(truth: Truth) -> None:
    assert predicted(truth, "gemma-3-27b-q4km.gguf", (16, 8)).context == 47360


def test_nothing_is_changed_while_every_device_keeps_its_margin(truth: Truth) -> None:
    found = predicted(truth, "llama-3.1-8b-q4km.gguf", (8,), "-c", "8192")
    assert found.action is FitAction.NOTHING
    assert not found.matters


@pytest.mark.parametrize(("flags", "named"), [
    (("-ngl", "99"), "-ngl"), (("-ngl", "all"), "-ngl"), (("-ot", "x=CPU"), "-ot"), (("-cmoe",), "-cmoe"),
    (("-ncmoe", "4"), "-ncmoe"), (("-ts", "1,1"), "-ts"), (("-sm", "tensor"), "-sm tensor")])
def test_it_gives_up_when_somebody_placed_something_already(truth: Truth, flags: tuple[str, ...], named: str) -> None:
    found = predicted(truth, "llama-3.3-70b-q4km.gguf", (8, 8), "-c", "8192", *flags)
    assert found.action is FitAction.GIVES_UP
    assert f"because {named} is set" in str(found.text)
    assert found.gpu_layers is None


def test_the_context_is_shortened_even_where_it_then_gives_up(truth: Truth) -> None:
    found = predicted(truth, "llama-3.3-70b-q4km.gguf", (8,), "-ngl", "99")
    assert (found.action, found.context) == (FitAction.GIVES_UP, 4096)


def test_a_card_that_holds_only_the_output_gives_even_that(truth: Truth) -> None:
    found = predicted(truth, "gpt-oss-20b-mxfp4.gguf", (16, 8))
    assert (found.tensor_split, len(found.overrides)) == ((25, 0), 1)


def test_a_placement_that_the_engine_overfills_itself_is_said(truth: Truth) -> None:
    """llama-server called it a success, with 16,888 MiB on the second card for a target of 11,264 MiB."""
    budgets = [Budget(f"RPC{i}", "rpc", 12 * GIB, 12 * GIB) for i in range(2)]
    found = predict_fit(truth.model("deepseek-v3-q4km.gguf"), parse_argv(["-c", "8192"]), budgets)
    assert found.tensor_split == (4, 58)
    assert found.over == "RPC1"
    assert "RPC1" in str(found.text)


def test_a_context_of_zero_asks_for_all_of_it(truth: Truth) -> None:
    found = predicted(truth, "llama-3.1-8b-q4km.gguf", (8,), "-c", "0")
    assert (found.action, found.context) == (FitAction.PLACEMENT, None)


def test_its_own_least_context_counts(truth: Truth) -> None:
    assert predicted(truth, "llama-3.3-70b-q4km.gguf", (8,), "-fitc", "2048").context == 2048


def test_a_split_does_not_stop_it_on_one_device(truth: Truth) -> None:
    found = predicted(truth, "llama-3.3-70b-q4km.gguf", (8,), "-c", "8192", "-ts", "1")
    assert found.action is FitAction.PLACEMENT


def test_off_is_said_where_it_would_have_helped(truth: Truth) -> None:
    found = predicted(truth, "llama-3.3-70b-q4km.gguf", (8,), "-c", "8192", "--fit", "off")
    assert found.action is FitAction.OFF
    assert "does not leave the margin" in str(found.text)


def test_memory_that_is_not_known_gives_no_prediction(llama: MakeModel) -> None:
    found = predict_fit(llama(), Plan(), [Budget("Vulkan0", "vulkan", 8 * GIB, None)])
    assert found.action is FitAction.UNKNOWN
    assert not found.matters


def test_a_card_has_less_free_for_the_server_than_before_it_by_the_driver_s_own_context(llama: MakeModel) -> None:
    model, plan = llama(), parse_argv(["-c", "1024"])
    free = 0
    for kind in ("rpc", "cuda"):
        mib = next(m for m in range(1024, 4096, 8)
                   if predict_fit(model, plan, [Budget("X0", kind, 8 * GIB, m * MIB)]).action is FitAction.NOTHING)
        free, before = mib, free
    assert 440 <= free - before <= 460


@pytest.mark.parametrize("limit", range(-5, 120, 7))
def test_the_largest_number_within_a_limit_is_found(limit: int) -> None:
    uses = [0, 1, 5, 6, 7, 30, 31, 32, 90, 100]
    wanted = max([n for n, use in enumerate(uses) if use <= limit], default=0)
    assert most_within(0, 9, uses.__getitem__, limit) == wanted
