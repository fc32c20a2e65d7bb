"""The map of layers and devices adds up to the estimate, and says what each pattern does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fitmodels import LLAMA_KEYS, llama_tensors, make_model

from paddock.fit import Budget, estimate
from paddock.fit.placement_map import EMBEDDING, PlacementMap, class_of, placement_map
from paddock.gguf import ModelFile
from paddock.launch import parse_argv

GIB = 1 << 30
MakeModel = Callable[..., ModelFile]
TWO = (Budget("CUDA0", "cuda", 24 * GIB, 23 * GIB), Budget("CUDA1", "cuda", 12 * GIB, 11 * GIB))
MODELS = ("qwen3-30b-a3b-q4km.gguf", "gpt-oss-20b-mxfp4.gguf", "gemma-3-27b-q4km.gguf", "deepseek-v3-q4km.gguf",
          "glm-4.5-air-q4km.gguf", "falcon-h1-dense.gguf", "hand-g4-e4b.gguf", "mamba-dense.gguf")
PLANS = ("-c 8192", "-c 8192 -ngl 20 -ts 3,1", "-c 4096 -cmoe", "-c 4096 -ngl 0", "-c 4096 -dev none",
         r"-c 4096 -ot blk\.[0-3]\.=CPU,token_embd=CUDA0 -ncmoe 3", "-c 4096 -nkvo -ot rope=CUDA1",
         "-c 4096 -dev CUDA1,CUDA0")


def mapped(model: ModelFile, text: str = "", budgets: tuple[Budget, ...] = TWO) -> PlacementMap:
    return placement_map(model, parse_argv(text.split()), budgets)


@pytest.mark.parametrize("text", PLANS)
def test_the_cells_of_a_row_add_up_to_the_estimate(truth: Any, text: str) -> None:
    for name in MODELS:
        model, plan = truth.model(name), parse_argv(text.split())
        wanted = estimate(model, plan, TWO, host_total=GIB, host_free=GIB)
        assert wanted.devices, f"{name}: {wanted.reason}"
        found = placement_map(model, plan, TWO)
        assert found.problem is None
        assert [row.name for row in found.rows] == [d.name for d in wanted.devices]
        for device in wanted.devices:
            assert found.sums(device.name) == (device.model, device.context), f"{name} {text} {device.name}"


@pytest.fixture
def moe() -> ModelFile:
    """Eight layers of four small experts."""
    tensors = [t for t in llama_tensors(8, 1024, 2048, 8, 2, 128, 4096) if ".ffn_" not in t[0] or "norm" in t[0]]
    for i in range(8):
        tensors += [(f"blk.{i}.ffn_{part}_exps.weight", (1024, 512, 4), "q8_0") for part in ("up", "down", "gate")]
        tensors.append((f"blk.{i}.ffn_gate_inp.weight", (1024, 4), "f32"))
    return make_model("qwen3moe", {**LLAMA_KEYS, "expert_count": 4, "expert_used_count": 2,
                                   "expert_feed_forward_length": 512}, tensors)


def test_layers_lie_in_columns_and_kinds_in_classes(moe: ModelFile) -> None:
    found = mapped(moe, "-c 4096 -ts 5,4")
    assert list(found.columns) == [EMBEDDING, *range(8), found.output]
    assert found.cell("Host", EMBEDDING).other == moe.by_name["token_embd.weight"].nbytes
    cell = found.cell("CUDA0", 0)
    assert cell.experts == sum(moe.by_name[f"blk.0.ffn_{p}_exps.weight"].nbytes or 0 for p in ("up", "down", "gate"))
    assert cell.kv == 2 * 2 * 128 * 2 * 4096
    assert cell.attention > 0
    assert found.cell("CUDA0", 5).total == 0
    assert found.cell("CUDA1", 5).experts == cell.experts
    assert found.has_experts
    assert found.shares == (5, 4)
    assert found.boundaries == (5,)


def test_a_token_reads_the_chosen_experts_only_and_a_tied_head_whole(moe: ModelFile, llama: MakeModel) -> None:
    found = mapped(moe, "-c 4096 -ts 5,4 -cmoe")
    experts = sum(found.cell("Host", n).experts for n in range(8))
    assert found.reads["Host"] == experts // 2
    assert found.reads["CUDA0"] == sum(found.cell("CUDA0", n).weights for n in range(5))
    tied = mapped(llama(tied=True), "-c 4096 -ngl 0")
    assert tied.reads == {"Host": tied.sums("Host")[0]}


def test_a_pattern_says_what_it_takes_from_where_to_where(moe: ModelFile) -> None:
    first, = mapped(moe, r"-c 4096 -ts 5,4 -ot blk\.[4-5]\.ffn_.*_exps=CPU").patterns
    assert (first.flag, first.expression, first.target) == ("-ot", r"blk\.[4-5]\.ffn_.*_exps", "CPU")
    assert len(first.moved) == first.matched == 6
    assert first.sources == ("CUDA0", "CUDA1")
    assert {t.target for t in first.moved} == {"Host"}
    assert first.moved_bytes == sum(moe.by_name[t.name].nbytes or 0 for t in first.moved)
    assert {t.column for t in first.moved} == {4, 5}


def test_a_pattern_that_comes_too_late_names_the_one_that_takes_its_tensors(moe: ModelFile) -> None:
    first, second, third = mapped(moe, "-c 4096 -ncmoe 3 -ot exps=CPU -cmoe").patterns
    assert (len(first.moved), first.late) == (9, ())
    assert (second.matched, len(second.moved), second.late) == (24, 15, ((1, 9),))
    assert (third.matched, third.taken, third.late) == (24, (), ((1, 9), (2, 15)))


def test_a_pattern_that_finds_nothing_or_moves_nothing_is_told_apart(moe: ModelFile) -> None:
    nothing, stays = mapped(moe, "-c 4096 -ot shexp=CPU -ot token_embd=CPU").patterns
    assert (nothing.matched, nothing.taken) == (0, ())
    assert (stays.matched, len(stays.taken), stays.moved) == (1, 1, ())


def test_bad_patterns_are_left_out_of_the_map_and_carry_their_problem(moe: ModelFile) -> None:
    found = mapped(moe, "-c 4096 -ot blk.(0=CPU,exps=CUDA7,exps -ot attn_q=CPU")
    assert [p.problem is not None for p in found.patterns] == [True, True, True, False]
    assert "CUDA7" in str(found.patterns[1].problem)
    assert found.problem is None
    assert found.sums("CUDA0")[0] > 0
    assert [(p.setting, p.part) for p in found.patterns] == [(1, 0), (1, 1), (1, 2), (2, 0)]


def test_drawing_a_boundary_gives_the_shares_that_llama_cpp_turns_into_that_split(moe: ModelFile) -> None:
    three = (*TWO, Budget("CUDA2", "cuda", 8 * GIB, 8 * GIB))
    for start in ("-ngl 99", "-ngl 6"):
        before = mapped(moe, f"-c 4096 {start} -ts 2,2,2", three)
        for boundary in (0, 1):
            for layer in range(before.first, 10):
                shares = before.split_at(boundary, layer)
                text = ",".join(str(n) for n in shares)
                after = mapped(moe, f"-c 4096 {start} -ts {text}", three)
                assert after.shares == shares
                assert after.boundaries[boundary] == layer


def test_devices_that_are_not_there_and_models_without_layers_are_said(llama: MakeModel) -> None:
    assert "CUDA7" in str(mapped(llama(), "-dev CUDA7 -ot exps=CPU").problem)
    assert len(mapped(llama(), "-dev CUDA7 -ot exps=CPU").patterns) == 1
    assert mapped(make_model("llama", {}, [])).problem is not None


def test_without_devices_everything_is_on_the_host(llama: MakeModel) -> None:
    found = mapped(llama(), "-c 4096", ())
    assert [row.name for row in found.rows] == ["Host"]
    assert (found.devices, found.shares, found.boundaries) == ((), (), ())
    assert mapped(llama(), "-c 4096 -ngl 0").boundaries == ()
    assert all(name == "Host" for name in found.layer_device)


def test_a_name_tells_the_kind() -> None:
    assert class_of("blk.0.ffn_up_exps.weight") == "experts"
    assert class_of("blk.0.ffn_up_shexp.weight") == "ffn"
    assert class_of("dec.blk.3.cross_attn_q.weight") == "attention"
    assert class_of("enc.blk.3.ffn_up.weight") == "ffn"
    assert class_of("blk.1.ssm_in.weight") == "other"
    assert class_of("token_embd.weight") == "other"
