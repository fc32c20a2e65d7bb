"""What a launch taught is judged by the same rules everywhere: estimate, fixes, placement, largest context, batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from paddock.fit import Budget, Verdict, answer, estimate, fixes, max_context
from paddock.fit.autoplacement import auto_place
from paddock.fit.corrections import Correction, uncorrected
from paddock.fit.judging import rejudged
from paddock.fit.missing import missing_for_all_layers
from paddock.gguf import ModelFile
from paddock.launch import parse_argv

MIB, GIB = 1 << 20, 1 << 30
MakeModel = Callable[..., ModelFile]
PLAN = parse_argv(["-c", "8192"])
RAM = {"host_total": 64 * GIB, "host_free": 60 * GIB}
TAUGHT = (Correction("RPC0", "rpc", "main", "overhead", 0, 700 * MIB),)


def card(free: int) -> Budget:
    return Budget("RPC0", "rpc", 64 * GIB, free)


def test_a_corrected_device_is_judged_as_one_with_such_figures(llama: MakeModel) -> None:
    plain = estimate(llama(), PLAN, [card(1500 * MIB)], **RAM)
    taught = estimate(llama(), PLAN, [card(1500 * MIB)], corrections=TAUGHT, **RAM)
    assert (plain.verdict, taught.verdict) == (Verdict.FITS, Verdict.TIGHT)
    assert taught.devices[0].total == plain.devices[0].total + 700 * MIB
    left = (taught.devices[0].left or 0) / GIB
    assert str(taught.reason) == f"RPC0 keeps {left:.2f} GiB free, under the margin of 1.00."
    assert uncorrected(taught).devices == plain.devices
    assert uncorrected(plain) is plain


def test_the_same_verdict_and_reason_come_of_the_same_figures(llama: MakeModel) -> None:
    for free in (300 * MIB, 900 * MIB, 2 * GIB, None):
        found = estimate(llama(), PLAN, [Budget("RPC0", "rpc", 64 * GIB, free)], **RAM)
        again = rejudged(found)
        assert (again.verdict, str(again.reason), again.devices) == (found.verdict, str(found.reason), found.devices)


def test_missing_parts_leave_no_more_than_that_it_does_not_fit(llama: MakeModel) -> None:
    found = estimate(llama(complete=False), PLAN, [card(8 * GIB)], **RAM)
    assert found.verdict is rejudged(found).verdict is Verdict.CANT_TELL
    less = [replace(d, budget=replace(d.budget, free_bytes=MIB)) for d in found.devices if d.budget]
    assert rejudged(found, less).verdict is Verdict.WONT_FIT


def test_fixes_and_placement_fit_with_what_launches_taught(llama: MakeModel) -> None:
    model, devices = llama(), [card(1880 * MIB)]
    before = estimate(model, PLAN, devices, corrections=TAUGHT, **RAM)
    assert before.verdict is not Verdict.FITS
    found = fixes(model, PLAN, devices, before, corrections=TAUGHT, **RAM)
    assert found
    judged = [estimate(model, f.plan, devices, corrections=TAUGHT, **RAM).verdict for f in found]
    assert Verdict.FITS in judged
    placed = auto_place(model, PLAN, [card(1800 * MIB)], pinned=["ctx-size"], corrections=TAUGHT, **RAM)
    assert placed.estimate.verdict is Verdict.FITS
    freely = auto_place(model, PLAN, [card(1800 * MIB)], pinned=["ctx-size"], **RAM)
    assert placed.gpu_weights < freely.gpu_weights


def test_corrected_weights_make_room_for_fewer_layers(llama: MakeModel) -> None:
    grown = (Correction("RPC0", "rpc", "main", "model", 100 * MIB, 150 * MIB),)
    devices = [card(1150 * MIB)]
    placed = auto_place(llama(), PLAN, devices, pinned=["ctx-size", "cache-type-k", "ubatch-size"], corrections=grown,
                        **RAM)
    assert placed.estimate.verdict is Verdict.FITS
    freely = auto_place(llama(), PLAN, devices, pinned=["ctx-size", "cache-type-k", "ubatch-size"], **RAM)
    assert 0 < placed.gpu_weights < freely.gpu_weights * 1.5


def test_the_largest_context_and_what_is_missing_count_it(llama: MakeModel) -> None:
    model, devices = llama(), [card(1900 * MIB)]
    plain, taught = (max_context(model, PLAN, devices, corrections=c, **RAM)[0] for c in ((), TAUGHT))
    assert plain
    assert (taught or 0) < plain
    short = [missing_for_all_layers(model, PLAN, [card(600 * MIB)], corrections=c, **RAM).bytes or 0
             for c in ((), TAUGHT)]
    assert short[1] - short[0] == 700 * MIB


def test_a_batch_answer_is_corrected_only_when_asked(llama: MakeModel) -> None:
    request = {"id": 1, "devices": [{"name": "RPC0", "kind": "rpc", "total": 64 * GIB, "free": 2 * GIB}]}
    plain, taught = answer(request, llama(), PLAN), answer(request, llama(), PLAN, None, TAUGHT)
    assert "overhead" not in {k for k in plain if k == "overhead" and "RPC0" in plain[k]}
    assert taught["overhead"]["RPC0"] == 700 * MIB
    assert any("corrected by +700 MiB overhead" in n for n in taught["notes"])
