"""LoRA adapters lie beside the weights that they change; sizes as the program printed them for such a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from fitmodels import make_model

from paddock.fit import Budget, Verdict, estimate
from paddock.fit.adapters import adapter_paths
from paddock.gguf import Kind, ModelFile
from paddock.launch import parse_argv

GIB = 1 << 30
MakeModel = Callable[..., ModelFile]
CARD = Budget("RPC0", "rpc", 24 * GIB, 20 * GIB)
RANK = 16


def adapter(*layers: int, base: str = "attn_q.weight") -> ModelFile:
    tensors = [(f"blk.{i}.{base}.lora_{part}", (1024, RANK) if part == "a" else (RANK, 1024), "f32")
               for i in layers for part in "ab"]
    return replace(make_model("llama", {}, tensors), kind=Kind.ADAPTER)


ONE = 4 * RANK * (1024 + 1024)


@pytest.mark.parametrize(("flags", "card", "host"), [
    ("-ngl 99", 8, 0), ("-ngl 0", 0, 8), ("-ngl 5", 4, 4), ("-dev none", 0, 8),
    (r"-ngl 99 -ot blk\.[01]\.attn_q=CPU", 6, 2)])
def test_an_adapter_follows_the_weights_of_its_layers(llama: MakeModel, flags: str, card: int, host: int) -> None:
    plan = parse_argv(["-c", "4096", *flags.split()])
    every = adapter(*range(8))
    plain, found = (estimate(llama(), plan, [CARD], host_free=60 * GIB, adapters=a) for a in ((), (every,)))
    more = [b.total - a.total for a, b in zip(plain.devices, found.devices, strict=True)]
    assert more == [card * ONE, host * ONE]
    assert [d.model for d in plain.devices] == [d.model for d in found.devices], "outside the breakdown"
    assert any("LoRA adapters" in str(n) for n in found.notes)


def test_several_add_up_and_tensors_of_another_model_count_for_nothing(llama: MakeModel) -> None:
    plan = parse_argv(["-c", "4096"])
    sizes = [estimate(llama(), plan, [CARD], host_free=60 * GIB, adapters=a).devices[0].overhead
             for a in ((adapter(0),), (adapter(0), adapter(1, 2)), (adapter(40), adapter(0, base="other.weight")))]
    assert sizes == [ONE, 3 * ONE, 0]


def test_the_files_are_found_in_every_spelling() -> None:
    plan = parse_argv(["--lora", "a.gguf", "--lora", "b.gguf,c.gguf", "--lora-scaled", "d.gguf:0.5"])
    assert adapter_paths(plan) == ("a.gguf", "b.gguf", "c.gguf", "d.gguf")
    assert adapter_paths(parse_argv(["-c", "4096"])) == ()


@pytest.mark.parametrize(("text", "named"), [("--mmproj /gone", "projector"), ("--mmproj-url http://h/p", "projector"),
                                             ("--lora /gone", "adapter"), ("--lora-scaled /gone:0.5", "adapter")])
def test_a_file_that_could_not_be_read_leaves_no_verdict_that_it_fits(llama: MakeModel, text: str, named: str) -> None:
    card = Budget("CUDA0", "cuda", 24 << 30, 24 << 30)
    found = estimate(llama(), parse_argv(["-c", "4096", *text.split()]), [card])
    assert found.verdict is Verdict.CANT_TELL
    assert named in str(found.reason)
    full = estimate(llama(), parse_argv(["-c", "4096", *text.split()]), [Budget("CUDA0", "cuda", 24 << 30, 0)])
    assert full.verdict is Verdict.WONT_FIT


@pytest.mark.parametrize("flag", ["--control-vector a.gguf", "--control-vector-scaled a.gguf:0.5,b.gguf:2",
                                  "--control-vector a.gguf --control-vector b.gguf --control-vector-layer-range 2 3"])
@pytest.mark.parametrize(("flags", "card", "host"), [("-ngl 99", 7, 0), ("-ngl 5", 4, 3), ("-dev none", 0, 7)])
def test_control_vectors_take_one_vector_a_layer_but_the_first(llama: MakeModel, flag: str, flags: str, card: int,
                                                               host: int) -> None:
    """As allocated by llama.cpp: the embedding's 1,024 values as f32 for layers 2 to 8."""
    plain, found = (estimate(llama(), parse_argv(["-c", "4096", *flags.split(), *more.split()]), [CARD],
                             host_free=60 * GIB) for more in ("", flag))
    more = [b.total - a.total for a, b in zip(plain.devices, found.devices, strict=True)]
    assert more == [card * 4096, host * 4096]
    assert any("Control vectors" in str(n) for n in found.notes)
