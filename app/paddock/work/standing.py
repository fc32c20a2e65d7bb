"""How this machine is set up, apart from any plan: clocks, power limits, IOMMU, memory banks, the page cache.

Everything is optional: what a system does not tell is None or empty. Facts that change rarely are read once in half a
minute, because the checks are asked on every edit.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paddock.engine.model import Engine
from paddock.hardware.nvml import open_nvml
from paddock.launch.model import Card

_FRESH_S = 30.0
_WINDOWS, _WINDOW_BYTES = 64, 1 << 20
"""The page cache is asked at this many places of a file, this many bytes each."""


@dataclass(frozen=True)
class Standing:
    """See `Conditions`, which takes these over."""

    governors: tuple[tuple[str, str], ...] = ()
    cards: tuple[Card, ...] = ()
    iommu: bool | None = None
    numa_balancing: bool | None = None


def standing(now: Callable[[], float] = time.monotonic) -> Standing:
    """What holds for this machine; read anew after half a minute."""
    return _read(int(now() / _FRESH_S))


@functools.lru_cache(maxsize=1)
def _read(_period: int) -> Standing:
    if sys.platform != "linux":
        return Standing(cards=cards())
    return Standing(governors(), cards(), iommu(), numa_balancing())


def governors(root: Path = Path("/sys/devices/system/cpu")) -> tuple[tuple[str, str], ...]:
    """(driver, governor) of every clock policy, each pair once: cpufreq/policy*/scaling_driver and scaling_governor
    (kernel: admin-guide/pm/cpufreq). Empty where the system has no say over clocks, as in most virtual machines."""
    found = []
    for policy in sorted((root / "cpufreq").glob("policy*")):
        pair = _text(policy / "scaling_driver"), _text(policy / "scaling_governor")
        if pair[0] and pair[1]:
            found.append((pair[0], pair[1]))
    return tuple(dict.fromkeys(found))


def iommu(root: Path = Path("/sys/class/iommu")) -> bool | None:
    """Whether the kernel drives an IOMMU (kernel: ABI/testing/sysfs-class-iommu); None where it does not tell."""
    try:
        return any(root.iterdir())
    except OSError:
        return None


def numa_balancing(path: Path = Path("/proc/sys/kernel/numa_balancing")) -> bool | None:
    """The file that llama.cpp itself reads (ggml-cpu.c)."""
    text = _text(path)
    return None if text is None else text != "0"


def cards() -> tuple[Card, ...]:
    """NVIDIA's cards with their limits. Watts."""
    nvml, _ = open_nvml()
    if nvml is None:
        return ()
    try:
        return tuple(Card(card.gpu.name, *nvml.power_limits_w(card), nvml.persistence(card))
                     for card in nvml.cards() if not card.mig)
    finally:
        nvml.close()


def uses_nccl(engine: Engine | None) -> bool | None:
    """Whether the engine's CUDA library names NCCL's: beside the program or in ../lib. None without such a library."""
    if engine is None or sys.platform != "linux":
        return None
    folder = Path(os.path.realpath(engine.path)).parent
    for place in (folder, folder.parent / "lib"):
        for library in sorted(place.glob("libggml-cuda*.so*")):
            return _names(str(library), library.stat().st_mtime_ns, b"libnccl.so")
    return None


@functools.lru_cache(maxsize=8)
def _names(path: str, _changed_ns: int, needle: bytes) -> bool | None:
    """A linked library stands by name in the program (ELF, DT_NEEDED)."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return view.find(needle) >= 0
    except (OSError, ValueError):
        return None


def cached_fraction(path: Path) -> float | None:
    """How much of a file lies in the page cache, from samples (mincore(2)); None where it cannot be told."""
    if sys.platform != "linux":
        return None
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return None
            starts = sorted({size * n // _WINDOWS // mmap.PAGESIZE * mmap.PAGESIZE for n in range(_WINDOWS)})
            parts = [_resident(file.fileno(), start, min(_WINDOW_BYTES, size - start)) for start in starts]
    except OSError:
        return None
    known = [part for part in parts if part is not None]
    return sum(known) / len(known) if known else None


def _resident(descriptor: int, start: int, length: int) -> float | None:
    """The share of pages of this part that are in memory. A private writable view is needed for its address alone."""
    library = ctypes.CDLL(None, use_errno=True)
    with mmap.mmap(descriptor, length, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE,
                   offset=start) as view:
        pages = -(-length // mmap.PAGESIZE)
        marks = (ctypes.c_ubyte * pages)()
        anchor = ctypes.c_char.from_buffer(view)
        try:
            failed = library.mincore(ctypes.c_void_p(ctypes.addressof(anchor)), ctypes.c_size_t(length), marks)
        finally:
            del anchor
        return None if failed else sum(mark & 1 for mark in marks) / pages


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
