"""What llama.cpp refuses, or aborts at, only when it builds the graph."""

from __future__ import annotations

import pytest
from fitmodels import LLAMA_KEYS, make_model

from paddock.fit import Budget, Estimate, estimate
from paddock.gguf import ModelFile
from paddock.launch import parse_argv

GIB = 1 << 30
BUDGETS = (Budget("RPC0", "rpc", 24 * GIB, 24 * GIB),)
Tensors = list[tuple[str, tuple[int, ...], str]]


def run(model: ModelFile, text: str) -> Estimate:
    plan = parse_argv(["--no-repack", "-c", "4096", *text.split()])
    return estimate(model, plan, BUDGETS, host_total=64 * GIB, host_free=64 * GIB, pins=False)


def fused_phi(layers: int) -> ModelFile:
    """Six tensors per layer, as Phi 3 and Phi 4 have."""
    tensors: Tensors = [
        ("token_embd.weight", (1024, 4096), "q8_0"),
        ("output_norm.weight", (1024,), "f32"),
        ("output.weight", (1024, 4096), "q8_0"),
    ]
    for i in range(layers):
        tensors += [
            (f"blk.{i}.attn_norm.weight", (1024,), "f32"),
            (f"blk.{i}.attn_qkv.weight", (1024, 1536), "q8_0"),
            (f"blk.{i}.attn_output.weight", (1024, 1024), "q8_0"),
            (f"blk.{i}.ffn_norm.weight", (1024,), "f32"),
            (f"blk.{i}.ffn_up.weight", (1024, 4096), "q8_0"),
            (f"blk.{i}.ffn_down.weight", (2048, 1024), "q8_0"),
        ]
    return make_model("phi3", {**LLAMA_KEYS, "block_count": layers}, tensors)


BOTH = "-ctk q8_0 -ctv q8_0 -np 2"


def test_phi_with_both_caches_quantised_and_streams_has_more_nodes_than_there_is_room_for() -> None:
    rejected = run(fused_phi(40), BOTH).rejected
    assert rejected is not None
    assert "--kv-unified" in str(rejected)


@pytest.mark.parametrize("text", [BOTH + " --kv-unified", "-ctk q8_0 -np 2", "-ctk q8_0 -ctv q8_0 -np 1"])
def test_phi_runs_with_one_cache_quantised_or_without_streams(text: str) -> None:
    assert run(fused_phi(40), text).rejected is None


@pytest.mark.parametrize("layers", [32, 43])
def test_phi_of_other_depths_has_room(layers: int) -> None:
    assert run(fused_phi(layers), BOTH).rejected is None


def test_the_mean_of_a_micro_batch_that_does_not_divide_by_the_slots_cannot_be_taken() -> None:
    model = fused_phi(4)
    assert run(model, "--embeddings --pooling mean -ub 512 -np 3").rejected is not None
    assert run(model, "--embeddings --pooling mean -ub 513 -np 3").rejected is None
    assert run(model, "--embeddings --pooling last -ub 512 -np 3").rejected is None


def test_a_draft_without_weights_of_its_own_is_refused_alone() -> None:
    keys = {**LLAMA_KEYS, "block_count": 1}
    assert run(make_model("gemma4-assistant", keys, []), "").rejected is not None
    rejected = run(make_model("eagle3", keys, [("fc.weight", (3072, 1024), "q8_0")]), "").rejected
    assert rejected is not None
    assert "-md" in str(rejected)


def test_no_micro_batch_and_no_batch_is_refused_with_embeddings() -> None:
    assert run(fused_phi(4), "--embeddings -ub 0").rejected is not None
    assert run(fused_phi(4), "-ub 0").rejected is None
