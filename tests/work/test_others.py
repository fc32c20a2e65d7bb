"""Who holds device memory, as the drivers tell it."""

from __future__ import annotations

from dataclasses import replace

from paddock.fit import Verdict
from paddock.fit.closing import Closing, Holder
from paddock.hardware import Machine
from paddock.hardware.model import Device, GpuProcess
from paddock.text import Text
from paddock.work.others import Others, holders_of, untold_of

MIB, GIB = 1 << 20, 1 << 30


def machine(*processes: tuple[GpuProcess, ...] | None) -> Machine:
    devices = tuple(Device(f"CUDA{i}", "cuda", "a card", 8 * GIB, 6 * GIB, processes=p)
                    for i, p in enumerate(processes))
    return Machine("Linux", None, 4, 8, 32 * GIB, 20 * GIB, 1, None, devices)


def test_processes_of_one_name_are_one_program_and_the_largest_comes_first() -> None:
    found = holders_of(machine((GpuProcess(7, "chrome", 100 * MIB), GpuProcess(9, "blender", GIB)),
                               (GpuProcess(8, "chrome", 300 * MIB), GpuProcess(5, None, 50 * MIB))))
    assert [(h.name, h.bytes, h.pids) for h in found] == [
        ("blender", GIB, (9,)), ("chrome", 400 * MIB, (7, 8)), ("process 5", 50 * MIB, (5,))]
    assert found[1].words == "300 MiB on CUDA1, 100 MiB on CUDA0"


def test_a_driver_that_does_not_tell_is_apart_from_one_that_says_nobody() -> None:
    assert untold_of(machine(None, (), (GpuProcess(7, "chrome", 100 * MIB),))) == (("CUDA0", 2 * GIB),)
    assert untold_of(machine((GpuProcess(7, "chrome", None),))) == (("CUDA0", 2 * GIB),)
    full = machine(None)
    assert untold_of(replace(full, devices=(replace(full.devices[0], free_bytes=None),))) == ()


def closing(name: str, size: int, after: Verdict, before: Verdict = Verdict.WONT_FIT) -> Closing:
    return Closing((Holder(name, (("CUDA0", size),), (1,)),), before, after, Text("Because."))


def test_the_best_to_close_is_the_smallest_that_helps_most() -> None:
    made = (closing("a", 3 * GIB, Verdict.FITS), closing("b", 2 * GIB, Verdict.FITS), closing("c", GIB, Verdict.TIGHT))
    assert Others(closings=made).best is made[1]
    assert Others(closings=made[2:]).best is made[2]
    assert Others(closings=(closing("d", GIB, Verdict.WONT_FIT),)).best is None


def test_each_is_told_with_its_verdict_or_plainly_where_all_fits() -> None:
    one = closing("chrome", GIB, Verdict.TIGHT)
    found = Others(one.holders, (one,), (("CUDA1", GIB),))
    assert [str(t) for t in found.lines()] == [
        "Closing chrome (1.0 GiB on CUDA0): tight instead of won’t fit.",
        "Other programs hold 1.0 GiB on CUDA1; this driver does not tell which."]
    assert found.as_list() == [{"name": "chrome", "pids": [1], "held": {"CUDA0": GIB}, "verdict": "tight",
                                "reason": "Because."}]
    good = closing("chrome", GIB, Verdict.FITS, Verdict.FITS)
    assert [str(t) for t in Others(good.holders, (good,)).lines()] == ["chrome holds 1.0 GiB on CUDA0."]


def test_many_programs_are_counted() -> None:
    many = tuple(Holder(f"p{i}", (("CUDA0", GIB),)) for i in range(11))
    assert [str(t) for t in Others(many).lines()][-1] == "3 other programs hold device memory."


def test_nobody_is_told_where_there_is_nobody() -> None:
    assert Others().lines() == []
