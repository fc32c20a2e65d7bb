"""LoRA adapters lie beside the weights that they change; sizes as the program printed them for such a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from fitmodels import make_model

from paddock.fit import Budget, estimate
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
