"""What closing another program would buy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paddock.fit import Budget, Verdict, estimate
from paddock.fit.closing import Closing, Holder, closings, freed, untold_text
from paddock.gguf import ModelFile
from paddock.launch import parse_argv

MIB, GIB = 1 << 20, 1 << 30
MakeModel = Callable[..., ModelFile]
PLAN = parse_argv(["-c", "8192"])
RAM = {"host_total": 64 * GIB, "host_free": 60 * GIB}


def card(free: int | None, index: int = 0, total: int = 2 * GIB) -> Budget:
    return Budget(f"RPC{index}", "rpc", total, free)


def holder(name: str, *held: int) -> Holder:
    return Holder(name, tuple((f"RPC{i}", size) for i, size in enumerate(held) if size))


def asked(model: ModelFile, budgets: list[Budget], *holders: Holder, text: str = "") -> tuple[Closing, ...]:
    plan = parse_argv(["-c", "8192", *text.split()])
    return closings(model, plan, budgets, estimate(model, plan, budgets, **RAM), holders, **RAM)


@pytest.mark.parametrize(("size", "after", "words"), [
    (60 * MIB, Verdict.WONT_FIT, "Closing chrome (60 MiB on RPC0): still won’t fit."),
    (100 * MIB, Verdict.TIGHT, "Closing chrome (100 MiB on RPC0): tight instead of won’t fit."),
    (1200 * MIB, Verdict.FITS, "Closing chrome (1.2 GiB on RPC0): fits instead of won’t fit."),
])
def test_the_verdict_is_the_one_of_that_much_more_memory(llama: MakeModel, size: int, after: Verdict,
                                                         words: str) -> None:
    budgets = [card(100 * MIB)]
    (found,) = asked(llama(), budgets, holder("chrome", size))
    again = estimate(llama(), PLAN, [card(100 * MIB + size)], **RAM)
    assert (found.after, str(found.reason)) == (again.verdict, str(again.reason)) == (after, str(found.reason))
    assert str(found.text) == words
    assert found.helps is (after is not Verdict.WONT_FIT)


def test_where_one_alone_is_not_enough_the_fewest_together_are_told(llama: MakeModel) -> None:
    found = asked(llama(), [card(100 * MIB)], holder("small", 20 * MIB), holder("chrome", 600 * MIB),
                  holder("blender", 550 * MIB), holder("tiny", 5 * MIB))
    assert [c.names for c in found] == ["chrome", "blender", "small", "chrome, blender"]
    assert [c.after for c in found] == [Verdict.TIGHT, Verdict.TIGHT, Verdict.WONT_FIT, Verdict.FITS]
    assert str(found[-1].text) == "Closing chrome, blender together (1.1 GiB): fits instead of won’t fit."


def test_together_is_not_told_where_one_is_as_good(llama: MakeModel) -> None:
    found = asked(llama(), [card(100 * MIB)], holder("chrome", 600 * MIB), holder("blender", 20 * MIB))
    assert [c.names for c in found] == ["chrome", "blender"]


def test_a_program_on_another_device_changes_nothing(llama: MakeModel) -> None:
    found = asked(llama(), [card(100 * MIB), card(100 * MIB, 1)], holder("chrome", 0, 1500 * MIB), text="-dev RPC0")
    assert [(c.after, c.helps) for c in found] == [(Verdict.WONT_FIT, False)]


def test_freed_memory_draws_layers_to_that_device(llama: MakeModel) -> None:
    """Shares follow what is free, so the whole is reckoned anew."""
    budgets = [card(1200 * MIB), card(1200 * MIB, 1)]
    (found,) = asked(llama(), budgets, holder("chrome", 0, 800 * MIB))
    again = estimate(llama(), PLAN, [card(1200 * MIB), card(2000 * MIB, 1)], **RAM)
    assert (found.after, str(found.reason)) == (again.verdict, str(again.reason))
    before = estimate(llama(), PLAN, budgets, **RAM)
    assert again.devices[1].model > before.devices[1].model


def test_ram_that_is_short_may_be_freed_too(llama: MakeModel) -> None:
    plan, free = parse_argv(["-c", "8192", "-cram", "0", "--no-mmap"]), 100 * MIB
    given = {"host_total": 4 * GIB, "host_free": free}
    before = estimate(llama(), plan, [], **given)
    found = closings(llama(), plan, [], before, [Holder("browser", (("Host", 2 * GIB),))], **given)
    assert [(c.before, c.after) for c in found] == [(Verdict.WONT_FIT, Verdict.FITS)]
    assert str(found[0].text) == "Closing browser (2.0 GiB of RAM): fits instead of won’t fit."


def test_no_more_is_freed_than_there_is() -> None:
    (one,) = freed([card(GIB)], [holder("a", 3 * GIB)])
    assert one.free_bytes == 2 * GIB
    assert freed([card(None)], [holder("a", GIB)]) == (card(None),)


def test_nothing_is_told_of_a_plan_that_cannot_be_judged(llama: MakeModel) -> None:
    assert asked(llama(), [card(100 * MIB)], holder("chrome", GIB), text="-np 0") == ()
    assert asked(llama(), [card(None)], holder("chrome", GIB)) == ()


def test_a_driver_that_names_nobody_is_said_to() -> None:
    assert str(untold_text([("Vulkan0", 3 * GIB // 2), ("Vulkan1", MIB)])) == \
        "Other programs hold 1.5 GiB on Vulkan0; this driver does not tell which."
    assert untold_text([("Vulkan1", MIB)]) is None
