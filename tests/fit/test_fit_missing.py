"""What is missing for all layers on the GPUs, in bytes of all devices together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paddock.fit import Budget, Verdict, estimate
from paddock.fit.missing import Missing, missing_for_all_layers
from paddock.gguf import ModelFile
from paddock.launch import parse_argv

MIB = 1 << 20
MakeModel = Callable[..., ModelFile]


def card(free: int | None, index: int = 0) -> Budget:
    return Budget(f"RPC{index}", "rpc", 64 << 30, free)


def missing(model: ModelFile, text: str, *budgets: Budget) -> Missing:
    return missing_for_all_layers(model, parse_argv(["-c", "4096", *text.split()]), budgets)


@pytest.mark.parametrize("text", ["", "-ngl 1", "-ot blk=CPU"])
def test_with_so_much_more_it_fits_and_with_less_it_does_not(llama: MakeModel, text: str) -> None:
    model, free = llama(), 600 * MIB
    short = missing(model, text, card(free)).bytes
    assert short
    assert short > 0
    for more, verdict in ((short, Verdict.FITS), (short - 1, Verdict.TIGHT)):
        found = estimate(model, parse_argv(["-c", "4096", "-ngl", "all"]), [card(free + more)], host_free=64 << 30)
        assert found.verdict is verdict


def test_it_is_said_in_a_line(llama: MakeModel) -> None:
    assert str(missing(llama(), "", card(600 * MIB)).text).endswith("are missing for all layers on the GPU.")
    two = missing(llama(), "", card(300 * MIB), card(300 * MIB, 1)).text
    assert str(two).endswith("are missing for all layers on the GPUs.")


def test_layers_that_need_not_be_on_the_cpu_are_told(llama: MakeModel) -> None:
    found = missing(llama(), "-ngl 1", card(32 << 30))
    assert found.bytes == 0
    assert str(found.text) == "All layers would fit on the GPU."


def test_nothing_is_said_where_nothing_is_missing_or_known(llama: MakeModel) -> None:
    assert missing(llama(), "", card(32 << 30)) == Missing(0)
    assert missing(llama(), "", card(None)).bytes is None
    assert missing(llama(), "-dev none", card(600 * MIB)).text is None
    assert missing(llama(), "").text is None
