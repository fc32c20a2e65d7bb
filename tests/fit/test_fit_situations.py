"""Situations that people met with other tools, with the right answer of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from fitmodels import LLAMA_KEYS, llama_tensors, make_model
from fittruth import Truth

from paddock.fit import Budget, DeviceEstimate, Estimate, Known, Verdict, estimate
from paddock.fit.autoplacement import auto_place
from paddock.gguf import Kind, ModelFile
from paddock.launch import parse_argv

MIB, GIB = 1 << 20, 1 << 30
MakeModel = Callable[..., ModelFile]
RAM: dict[str, Any] = {"host_total": 64 * GIB, "host_free": 60 * GIB}
GEMMA = {"block_count": 18, "embedding_length": 640, "feed_forward_length": 2048, "attention.head_count": 4,
         "attention.head_count_kv": 1, "attention.key_length": 256, "attention.value_length": 256,
         "attention.sliding_window": 512, "context_length": 32768}


def card(index: int = 0, free: float | None = 24, kind: str = "cuda", total: float = 24) -> Budget:
    return Budget(f"{kind.upper()}{index}", kind, int(total * GIB), None if free is None else int(free * GIB))


def of(model: ModelFile, text: str, *budgets: Budget, **more: Any) -> Estimate:
    return estimate(model, parse_argv(text.split()), budgets, **{**RAM, **more})


def kv(found: Estimate) -> float:
    return sum(d.context for d in found.devices) / MIB


def row(found: Estimate, name: str) -> DeviceEstimate:
    device = found.device(name)
    assert device is not None
    return device


def gemma(window: int = 512) -> ModelFile:
    return make_model("gemma3", GEMMA | {"attention.sliding_window": window},
                      llama_tensors(18, 640, 2048, 4, 1, 256, 4096, tied=True))


# -- caches


@pytest.mark.parametrize(("flags", "mib"), [
    ("-np 1", 27), ("-np 2", 42), ("-np 4", 72), ("", 49.5), ("-np 4 -kvu", 49.5), ("-np 1 -ub 2048", 49.5),
    ("-np 1 -ub 128", 23.25), ("-np 4 --swa-full", 72), ("-np 1 --swa-full", 72)])
def test_window_cells_follow_slots_sharing_micro_batch_and_swa_full(flags: str, mib: float) -> None:
    assert kv(of(gemma(), f"-c 4096 {flags}")) == mib


def test_a_window_of_1024_keeps_1536_cells_and_not_twice_the_window() -> None:
    full, sliding = 3, 15
    assert kv(of(gemma(1024), "-c 8192 -np 1")) == (full * 8192 + sliding * 1536) / 1024


def hybrid(layers: int = 40, interval: int = 4) -> ModelFile:
    keys = {"block_count": layers, "embedding_length": 1024, "feed_forward_length": 2048, "attention.head_count": 8,
            "attention.head_count_kv": 2, "attention.key_length": 128, "attention.value_length": 128,
            "context_length": 32768, "full_attention_interval": interval, "ssm.conv_kernel": 4, "ssm.inner_size": 2048,
            "ssm.state_size": 128, "ssm.group_count": 16, "ssm.time_step_rank": 16}
    return make_model("qwen35", keys, llama_tensors(layers, 1024, 2048, 8, 2, 128, 4096))


@pytest.mark.parametrize(("layers", "interval", "attending"), [(40, 4, 10), (40, 2, 20), (48, 8, 6)])
def test_only_attention_layers_of_a_hybrid_have_keys(layers: int, interval: int, attending: int) -> None:
    model = hybrid(layers, interval)
    per_token = (kv(of(model, "-c 16384 -np 1")) - kv(of(model, "-c 8192 -np 1"))) * MIB / 8192
    assert per_token == attending * 2 * (2 * 128) * 2


def test_state_grows_evenly_with_slots_and_not_with_context_or_cache_type() -> None:
    model = hybrid()
    sizes = [kv(of(model, f"-c 4096 -np {n} -kvu")) for n in (1, 2, 3, 4)]
    steps = {round(b - a, 6) for a, b in pairwise(sizes)}
    assert len(steps) == 1
    (state,) = steps
    assert state > 0
    for flags in ("-c 8192 -np 1", "-c 8192 -np 1 -ctk q8_0 -ctv q8_0"):
        twice = kv(of(model, flags.replace("-np 1", "-np 2 -kvu"))) - kv(of(model, flags))
        assert twice == pytest.approx(state)


def test_unlike_key_and_value_sizes_are_taken_from_the_file(llama: MakeModel) -> None:
    model = llama(keys={"attention.key_length": 192, "attention.value_length": 128})
    assert kv(of(model, "-c 4096")) * MIB == 8 * 4096 * 2 * 2 * (192 + 128)


@pytest.mark.parametrize(("flags", "context", "each", "slots", "shared"), [
    ("-c 8192", 8192, 8192, 4, True), ("-c 8192 -np -1", 8192, 8192, 4, True),
    ("-c 8192 --no-kv-unified", 8192, 8192, 4, True), ("-c 8192 -np 2", 8192, 4096, 2, False),
    ("-c 8192 -np 2 -kvu", 8192, 8192, 2, True), ("-c 8190 -np 3", 8448, 2816, 3, False),
    ("--kv-unified-per-slot 4096 -np 3 -kvu", 12288, 12288, 3, True)])
def test_slots_share_or_part_the_context(llama: MakeModel, flags: str, context: int, each: int, slots: int,
                                         shared: bool) -> None:
    found = of(llama(), flags)
    assert (found.context_length, found.context_per_slot, found.slots, found.unified) == (context, each, slots, shared)


@pytest.mark.parametrize(("flags", "context", "each", "note"), [
    ("", 32768, 32768, "No context is set, so it is the model's own: 32,768 tokens."),
    ("-c 0", 32768, 32768, "No context is set, so it is the model's own: 32,768 tokens."),
    ("-np 2", 65536, 32768, "No context is set, so each slot has the model's own: 32,768 of 65,536 tokens in all."),
    ("-c 0 -np 3", 98304, 32768,
     "No context is set, so each slot has the model's own: 32,768 of 98,304 tokens in all."),
    ("-np 2 --fit off", 32768, 16384,
     "No context is set, so each slot has the model's own: 16,384 of 32,768 tokens in all."),
    ("-np 2 -kvu", 32768, 32768, "No context is set, so it is the model's own: 32,768 tokens.")])
def test_an_open_context_is_what_the_program_makes_of_it_and_is_said(llama: MakeModel, flags: str, context: int,
                                                                     each: int, note: str) -> None:
    found = of(llama(), flags)
    assert (found.context_length, found.context_per_slot) == (context, each)
    assert note in map(str, found.notes)
    assert not any("No context" in str(n) for n in of(llama(), "-c 4096").notes)


# -- weights and devices


def test_a_table_per_layer_never_lies_on_a_card() -> None:
    keys = GEMMA | {"attention.sliding_window_pattern": [1, 1, 1, 1, 1, 0] * 3, "attention.key_length_swa": 256,
                    "attention.value_length_swa": 256, "attention.shared_kv_layers": 0}
    plain = llama_tensors(18, 640, 2048, 4, 1, 256, 4096, tied=True)
    table = ("per_layer_token_embd.weight", (256 * 18, 262144), "q8_0")
    bare, full = (make_model("gemma4", keys, [*plain, *more]) for more in ([], [table]))
    small, large = (of(model, "-c 4096", card()) for model in (bare, full))
    assert row(large, "CUDA0").model == row(small, "CUDA0").model
    assert row(large, "Host").model - row(small, "Host").model == 256 * 18 * 262144 // 32 * 34


def test_weights_come_from_the_tensors_whatever_the_metadata_calls_active(truth: Truth) -> None:
    model = truth.model("qwen3-30b-a3b-q4km.gguf")
    found = of(model, "-c 4096", card(0, 24))
    assert sum(d.model for d in found.devices) >= 0.99 * sum(t.nbytes or 0 for t in model.tensors)
    hidden = replace(model, metadata={**model.metadata, "qwen3moe.expert_used_count": 1}, identity="other")
    assert [d.model for d in of(hidden, "-c 4096", card(0, 24)).devices] == [d.model for d in found.devices]


@pytest.mark.parametrize("flags", ["-ngl 40", "-cmoe", "-ncmoe 20"])
def test_anything_on_the_cpu_costs_the_card_room_for_staging(truth: Truth, flags: str) -> None:
    model = truth.model("qwen3-30b-a3b-q4km.gguf")
    whole, part = of(model, "-c 8192", card()), of(model, f"-c 8192 {flags}", card())
    staging = row(part, "CUDA0").compute - row(whole, "CUDA0").compute
    assert staging > 100 * MIB
    tight = of(model, f"-c 8192 {flags}", replace(card(), free_bytes=row(part, "CUDA0").total + GIB - staging // 2))
    assert tight.verdict is Verdict.TIGHT


def test_experts_of_the_first_layers_relieve_the_card_that_has_those_layers(truth: Truth) -> None:
    model = truth.model("qwen3-30b-a3b-q4km.gguf")
    cards = [card(0), card(1)]
    plain, moved = of(model, "-c 8192 -ts 1,1", *cards), of(model, "-c 8192 -ts 1,1 -ncmoe 20", *cards)
    assert row(moved, "CUDA1").model == row(plain, "CUDA1").model
    assert row(moved, "CUDA0").model < 0.4 * row(plain, "CUDA0").model
    small = of(model, "-c 8192 -ts 1,1 -ncmoe 20", card(0), card(1, 8, total=8))
    assert [d.verdict for d in small.devices[:2]] == [Verdict.FITS, Verdict.WONT_FIT]
    assert str(small.reason).startswith("CUDA1 is ")
    placed = auto_place(model, parse_argv(["-c", "8192"]), [card(0), card(1, 8, total=8)], pinned=["ctx-size"], **RAM)
    assert placed.estimate.verdict is Verdict.FITS


def test_helpers_move_between_exactly_the_bars_they_are_told_to(llama: MakeModel) -> None:
    small = llama(keys={"block_count": 2})
    eye = replace(make_model("clip", {}, [("v.weight", (1024, 1024), "f16")] * 50), kind=Kind.PROJECTOR)
    base = "-c 4096 -md d.gguf --spec-type draft-simple --mmproj p.gguf -devd CUDA0"
    cards = [card(0), card(1)]

    def totals(more: str = "") -> list[int]:
        return [d.total for d in of(llama(), f"{base} {more}", *cards, draft=small, projector=eye).devices]

    first, picture, drafted = totals(), totals("--mmproj-device CUDA1"), totals("-devd CUDA1")
    assert [b - a for a, b in zip(first, picture, strict=True)] == [-eye.tensor_bytes, eye.tensor_bytes, 0]
    moved = [b - a for a, b in zip(first, drafted, strict=True)]
    assert moved[0] < 0 < moved[1]
    assert abs(sum(moved)) < 2 * MIB


def test_a_suggested_split_follows_free_bytes_and_what_layers_weigh(truth: Truth) -> None:
    model = truth.model("llama-3.3-70b-q4km.gguf")
    placed = auto_place(model, parse_argv(["-c", "8192"]), [card(0, 40, total=48), card(1, 11, total=12)],
                        pinned=["ctx-size"], **RAM)
    assert placed.estimate.verdict is Verdict.FITS
    assert all(d.left is not None and d.left >= d.margin for d in placed.estimate.devices)
    even = of(model, "-c 8192 -ts 1,1", card(0, 40, total=48), card(1, 11, total=12))
    assert even.verdict is Verdict.WONT_FIT


@pytest.mark.parametrize("split", ["", "-ts 0.49,0.51", "-ts 4,1"])
def test_tensor_mode_has_wide_bands_and_no_exact_figure(truth: Truth, split: str) -> None:
    model = truth.model("llama-3.3-70b-q4km.gguf")
    found = of(model, f"-c 8192 -sm tensor {split}", card(0, 60, total=80), card(1, 60, total=80))
    shares = {"": (1, 1), "-ts 0.49,0.51": (0.49, 0.51), "-ts 4,1": (4, 1)}[split]
    weights = [row(found, f"CUDA{i}").model for i in (0, 1)]
    assert weights[0] / weights[1] == pytest.approx(shares[0] / shares[1], rel=1e-6)
    for device in found.devices[:2]:
        for term in device.terms:
            assert term.low < term.high
            assert term.known is Known.REPORTS
    assert row(found, "CUDA0").high > 1.05 * row(found, "CUDA0").total
    assert found.known is not Known.CHECKED
    assert any("-sm tensor" in str(n) for n in found.notes)
    near = row(found, "CUDA0").total + GIB + 100 * MIB
    assert of(model, f"-c 8192 -sm tensor {split}", replace(card(0, 60, total=80), free_bytes=near),
              card(1, 60, total=80)).verdict is Verdict.TIGHT


# -- verdicts


def test_what_others_hold_counts_against_the_card(llama: MakeModel) -> None:
    assert of(llama(), "-c 8192", card(0, 0.3)).verdict is Verdict.WONT_FIT
    found = of(llama(), "-c 8192", card(0, 2))
    assert row(found, "CUDA0").other_bytes == 22 * GIB


@pytest.mark.parametrize("free", [0.1, 0.3, 0.5])
def test_more_than_is_free_never_fits_however_it_came_into_the_plan(llama: MakeModel, free: float) -> None:
    found = of(llama(), "-c 32768", card(0, free))
    assert (found.verdict is Verdict.WONT_FIT) is (row(found, "CUDA0").total > free * GIB)
    assert found.rejected is None, "advice, not a refusal"


def test_memory_that_nobody_tells_is_no_reason_to_refuse(llama: MakeModel) -> None:
    found = of(llama(), "-c 8192", card(0, None))
    assert (found.verdict, found.rejected) == (Verdict.CANT_TELL, None)
    assert row(found, "CUDA0").total > 0
    unused = of(llama(), "-c 8192 -dev none", card(0, None))
    assert unused.verdict is Verdict.FITS, "a card that holds nothing need not be known"


@pytest.mark.parametrize(("left", "spills", "verdict"), [
    (1.2, False, Verdict.FITS), (1.2, True, Verdict.TIGHT), (1.6, True, Verdict.FITS)])
def test_where_drivers_spill_the_margin_is_larger_and_it_is_said(llama: MakeModel, left: float, spills: bool,
                                                                 verdict: Verdict) -> None:
    need = row(of(llama(), "-c 8192", card()), "CUDA0").total
    budget = replace(card(), free_bytes=need + int(left * GIB))
    found = of(llama(), "-c 8192", budget, spills=spills)
    assert found.verdict is verdict
    assert any("near its limit" in str(n) for n in found.notes) is (verdict is Verdict.TIGHT)


def test_another_model_of_the_same_name_and_flags_has_its_own_figures(llama: MakeModel) -> None:
    small, large = llama(keys={"block_count": 2}), llama()
    figures: list[Sequence[int]] = [[d.model for d in of(m, "-c 4096 -ngl 99", card()).devices]
                                    for m in (small, large, small)]
    assert figures[0] == figures[2] != figures[1]


def test_every_term_is_told_by_itself_so_that_two_errors_cannot_hide_each_other(llama: MakeModel) -> None:
    for device in of(llama(), "-c 8192", card()).devices:
        assert sum(t.bytes for t in device.terms) == device.total
        assert {t.id for t in device.terms} >= {"weights", "kv", "compute"}


@pytest.mark.parametrize("keys", [{"block_count": 4_000_000_000}, {"nextn_predict_layers": 2**63},
                                  {"nextn_predict_layers": 3}, {"nextn_predict_layers": -1}])
def test_counts_of_layers_that_cannot_be_are_said_so_and_fill_no_memory(keys: dict[str, int]) -> None:
    tensors = llama_tensors(2, 1024, 2048, 8, 2, 128, 4096, False)
    found = of(make_model("llama", {**LLAMA_KEYS, "block_count": 2, **keys}, tensors), "-c 4096", card(0))
    assert found.verdict is Verdict.CANT_TELL
    assert "out of range" in str(found.reason)
