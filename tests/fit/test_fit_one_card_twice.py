"""A card that two backends list is one card to llama.cpp, unless the person names both."""

from __future__ import annotations

from paddock.fit.levers import Levers
from paddock.fit.model import Budget
from paddock.fit.placement import available, chosen

GIB = 1 << 30
CUDA = Budget("CUDA0", "cuda", 24 * GIB, 22 * GIB)
VULKAN = Budget("Vulkan0", "vulkan", 24 * GIB, 22 * GIB, same_as="CUDA0")
RPC = Budget("RPC0", "rpc", 8 * GIB, 8 * GIB)


def test_it_is_used_once_and_every_device_keeps_its_row() -> None:
    picked = chosen(Levers(), available([CUDA, VULKAN, RPC]))
    assert [(d.name, d.row) for d in picked] == [("RPC0", 2), ("CUDA0", 0)]


def test_it_is_used_as_the_person_names_it() -> None:
    devices = available([CUDA, VULKAN])
    assert [d.name for d in chosen(Levers(devices=("Vulkan0",)), devices)] == ["Vulkan0"]
    assert [d.name for d in chosen(Levers(devices=("Vulkan0", "CUDA0")), devices)] == ["Vulkan0", "CUDA0"]


def test_a_processor_s_graphics_seen_twice_are_used_once_too() -> None:
    igpu = Budget("ROCm0", "rocm", 24 * GIB, 22 * GIB, integrated=True)
    again = Budget("Vulkan0", "vulkan", 24 * GIB, 22 * GIB, integrated=True, same_as="ROCm0")
    assert [d.name for d in chosen(Levers(), available([igpu, again]))] == ["ROCm0"]
