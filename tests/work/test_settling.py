"""Free memory is believed when two readings in a row agree."""

from __future__ import annotations

from dataclasses import replace

from paddock.hardware import Device, Gpu, Machine
from paddock.work.settling import settled

CARD = Gpu(0, None, None, "card", 100)
MACHINE = Machine("Linux", None, 2, 2, 100, 50, 1, None, ())


def machine(free: int, gpu: Gpu | None = CARD) -> Machine:
    return replace(MACHINE, devices=(Device("CUDA0", "cuda", "card", 100, free, gpu=gpu),))


class World:
    def __init__(self, *free: int, gpu: Gpu | None = CARD) -> None:
        self.left = [machine(f, gpu) for f in free]
        self.reads = 0
        self.now = 0.0

    def read(self, _: Machine) -> Machine:
        self.reads += 1
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]

    def settle(self) -> int | None:
        found = settled(MACHINE, self.read, sleep=self.sleep, clock=lambda: self.now)
        return found.devices[0].free_bytes

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_it_waits_while_a_card_still_gives_memory_back() -> None:
    world = World(10, 30, 60, 90, 90, 91)
    assert world.settle() == 90
    assert world.reads == 5


def test_what_no_driver_counts_is_right_at_once() -> None:
    world = World(10, 30, gpu=None)
    assert world.settle() == 10
    assert (world.reads, world.now) == (1, 0.0)


def test_a_card_that_never_rests_does_not_hold_us_up() -> None:
    world = World(*range(1000))
    assert world.settle() is not None
    assert world.now < 4
