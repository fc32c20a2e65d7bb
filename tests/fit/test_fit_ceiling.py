"""The speed that memory allows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fittruth import Truth

from paddock.fit import Budget
from paddock.fit.bandwidth import Bandwidth
from paddock.fit.ceiling import REACHED, REACHED_RAM, bandwidths, ceiling, read_per_token
from paddock.fit.model import Known
from paddock.gguf import ModelFile
from paddock.launch import parse_argv
from paddock.units import GIB

MakeModel = Callable[..., ModelFile]

CARD = Budget("CUDA0", "cuda", 80 * GIB, 80 * GIB, description="NVIDIA GeForce RTX 4090")


def test_a_dense_model_reads_all_its_weights_but_the_token_table(llama: MakeModel) -> None:
    model = llama()
    read = read_per_token(model, parse_argv(["-c", "4096"]), [CARD], 0)
    assert read["CUDA0"] == sum(t.nbytes or 0 for t in model.tensors if t.name != "token_embd.weight")
    assert read.get("Host", 0) == 0


def test_a_tied_table_is_read_as_the_head(llama: MakeModel) -> None:
    model = llama(tied=True)
    assert read_per_token(model, parse_argv(["-c", "4096"]), [CARD], 0)["CUDA0"] == model.tensor_bytes


def test_experts_count_by_the_number_that_is_used(truth: Truth) -> None:
    model = truth.model("qwen3-30b-a3b-q4km.gguf")
    read = read_per_token(model, parse_argv(["-c", "8192"]), [CARD], 0)
    experts = sum(t.nbytes or 0 for t in model.tensors if "_exps" in t.name)
    rest = sum(t.nbytes or 0 for t in model.tensors if "_exps" not in t.name and t.name != "token_embd.weight")
    assert read["CUDA0"] == pytest.approx(rest + experts * 8 / 128, rel=1e-6)


def test_experts_on_the_cpu_are_read_from_ram(truth: Truth) -> None:
    model = truth.model("qwen3-30b-a3b-q4km.gguf")
    read = read_per_token(model, parse_argv(["-c", "8192", "-cmoe"]), [CARD], 0)
    experts = sum(t.nbytes or 0 for t in model.tensors if "_exps" in t.name)
    assert read["Host"] == pytest.approx(experts * 8 / 128, rel=1e-6)


def test_the_context_adds_its_keys_and_values(truth: Truth) -> None:
    model, plan = truth.model("llama-3.1-8b-q4km.gguf"), parse_argv(["-c", "8192"])
    empty, full = (read_per_token(model, plan, [CARD], d)["CUDA0"] for d in (0, 8192))
    assert full - empty == GIB
    q8 = parse_argv(["-c", "8192", "-ctk", "q8_0", "-ctv", "q8_0"])
    assert read_per_token(model, q8, [CARD], 8192)["CUDA0"] - empty == pytest.approx(GIB * 34 / 64)


def test_a_sliding_window_bounds_what_is_read(truth: Truth) -> None:
    model, plan = truth.model("gemma-3-27b-q4km.gguf"), parse_argv(["-c", "65536"])
    at = [read_per_token(model, plan, [CARD], d)["CUDA0"] for d in (1024, 2048, 3072)]
    assert at[2] - at[1] == at[1] - at[0]
    first = at[0] - read_per_token(model, plan, [CARD], 0)["CUDA0"]
    assert at[1] - at[0] < first / 4


def test_the_devices_times_add_up(truth: Truth) -> None:
    model, plan = truth.model("qwen3-30b-a3b-q4km.gguf"), parse_argv(["-c", "8192", "-ncmoe", "20"])
    read = read_per_token(model, plan, [CARD], 0)
    found = ceiling(model, plan, [CARD], bandwidths([CARD], 40e9))
    assert found is not None
    card, ram = read["CUDA0"] / 1008e9, read["Host"] / 40e9
    assert found.bound == pytest.approx(1 / (card + ram))
    assert found.low == pytest.approx(1 / (card / REACHED[0] + ram / REACHED_RAM[0]))
    assert found.high == pytest.approx(1 / (card / REACHED[1] + ram / REACHED_RAM[1]))


def test_a_card_without_a_figure_gives_no_ceiling_and_says_so(llama: MakeModel) -> None:
    odd = Budget("Vulkan0", "vulkan", 8 * GIB, 8 * GIB, description="Some Card 9")
    found = ceiling(llama(), parse_argv(["-c", "4096"]), [odd], bandwidths([odd], 40e9))
    assert found is not None
    assert (found.low, found.high) == (None, None)
    assert "Some Card 9" in str(found.basis)


def test_a_card_that_nothing_lies_on_needs_no_figure(llama: MakeModel) -> None:
    odd = Budget("Vulkan0", "vulkan", 8 * GIB, 8 * GIB, description="Some Card 9")
    found = ceiling(llama(), parse_argv(["-c", "4096", "-dev", "none"]), [odd], bandwidths([odd], 40e9))
    assert found is not None
    assert found.low is not None


def test_shared_memory_is_as_fast_as_the_ram_where_the_part_is_not_known() -> None:
    inside = Budget("Vulkan0", "vulkan", 8 * GIB, 8 * GIB, integrated=True, description="Some Graphics")
    assert bandwidths([inside], 40e9)["Vulkan0"] == Bandwidth(40e9, 40e9, Known.MEASURED, "RAM")
    assert bandwidths([inside], None)["Vulkan0"] is None
