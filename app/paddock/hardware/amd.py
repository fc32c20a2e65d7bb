"""AMD cards under Linux: the files that the amdgpu driver keeps under /sys/class/drm, and AMD's library where it is.

Sources: the kernel's Documentation/gpu/amdgpu/driver-misc and thermal (mem_info_*, gpu_busy_percent, mem_busy_percent,
gpu_metrics, pcie_bw, hwmon), Documentation/gpu/drm-usage-stats (fdinfo); names from libdrm's amdgpu.ids. Not checked
on such a card by us.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

from paddock.hardware import amd_metrics, sysfs
from paddock.hardware.amd_smi import AmdSmi, open_amd_smi
from paddock.hardware.drivers import ASLEEP, Card, Memory
from paddock.hardware.model import Gpu, GpuProcess
from paddock.hardware.sysfs import DRM, PROC
from paddock.text import Text

_AMD = "0x1002"
_CARVED_BYTES = 2 << 30
"""Processors from before gpu_metrics (Raven, Picasso) have no more carved out for them; cards of that time have."""
_HELD = re.compile(r"drm-memory-(?:vram|gtt)")
_IDS = (Path("/usr/share/libdrm/amdgpu.ids"), Path("/opt/amdgpu/share/libdrm/amdgpu.ids"))
_PCIE_BLOCKS = Text("AMD's driver counts PCIe traffic for a whole second at a time: it is not asked.")
_NO_THROTTLE = Text("This card's table of readings does not say why clocks are held down.")


class AmdGpus:
    """The amdgpu driver's files. `handle` of its cards is the folder of the device."""

    lost = False

    def __init__(self, drm: Path = DRM, proc: Path = PROC, ids: tuple[Path, ...] = _IDS,
                 library: AmdSmi | None = None) -> None:
        self._drm = drm
        self._proc = proc
        self._ids = ids
        self._library = library

    def close(self) -> None:
        if self._library is not None:
            self._library.close()
            self._library = None

    def cards(self) -> list[Card]:
        found: list[Card] = []
        for _, folder in sysfs.cards(self._drm, _AMD):
            if sysfs.number(folder / "mem_info_vram_total"):
                found.append(Card(self._gpu(len(found), folder), folder, self))
        return found

    def _gpu(self, index: int, folder: Path) -> Gpu:
        integrated = _integrated(folder)
        memory = _memory(folder, integrated)
        bus = sysfs.bus_of(folder)
        generation, width = sysfs.link(folder, "max")
        return Gpu(
            index=index,
            uuid=None,
            pci_id=bus,
            name=self._name(folder, bus) or f"AMD GPU {index}",
            total_bytes=memory.total_bytes if memory else None,
            driver=None,
            pcie_generation=generation,
            pcie_width=width or None,
            maker="amd",
            vram_bytes=sysfs.number(folder / "mem_info_vram_total"),
            shared_bytes=sysfs.number(folder / "mem_info_gtt_total"),
            integrated=integrated,
        )

    def _name(self, folder: Path, bus: str | None) -> str | None:
        told = sysfs.text(folder / "product_name")
        if not told and self._library is not None and bus is not None:
            told = self._library.name(bus)
        return told or _listed_name(self._ids, sysfs.text(folder / "device"), sysfs.text(folder / "revision"))

    def memory(self, card: Card) -> Memory | None:
        """The card's own memory; of a part without any, its carve-out and what it may take of the host's (GTT)."""
        return _memory(card.handle, bool(card.gpu.integrated))

    def shared(self, card: Card) -> Memory | None:
        """What the card may take of the host's memory (GTT), and what of it is in use."""
        return _pool(card.handle, "gtt")

    def own(self, card: Card) -> Memory | None:
        """The card's own memory alone; of a processor's graphics, what the BIOS carved out for it."""
        return _pool(card.handle, "vram")

    def processes(self, card: Card, pids: frozenset[int]) -> tuple[GpuProcess, ...] | None:
        """All of a card where AMD's library is here; else of the asked processes alone."""
        if self._library is not None and card.gpu.pci_id is not None:
            listed = self._library.processes(card.gpu.pci_id)
            if listed is not None:
                return listed
        return sysfs.processes(self._proc, pids, card.gpu.pci_id, _HELD)

    def utilisation(self, card: Card) -> tuple[float | None, float | None]:
        if sysfs.asleep(card.handle):
            return None, None
        busy, memory = (sysfs.number(card.handle / name) for name in ("gpu_busy_percent", "mem_busy_percent"))
        if memory is None and (metrics := amd_metrics.read(card.handle / "gpu_metrics")):
            return _percent(busy), metrics.memory_pct
        return _percent(busy), _percent(memory)

    def clocks_mhz(self, card: Card) -> tuple[float | None, float | None]:
        return self._sensor(card, "freq1_input", unit=1e6), self._sensor(card, "freq2_input", unit=1e6)

    def power_w(self, card: Card) -> float | None:
        return self._sensor(card, "power1_average", "power1_input", unit=1e6)

    def temperature_c(self, card: Card) -> float | None:
        return self._sensor(card, "temp1_input", unit=1e3)

    def _sensor(self, card: Card, *names: str, unit: float) -> float | None:
        return None if sysfs.asleep(card.handle) else sysfs.sensor(card.handle, names, unit)

    def throttle(self, card: Card) -> tuple[str, ...] | None:
        """As the card's controller says, where its table has the form that is the same for all cards."""
        metrics = None if sysfs.asleep(card.handle) else amd_metrics.read(card.handle / "gpu_metrics")
        return metrics.throttle if metrics else None

    def pcie_link(self, card: Card) -> tuple[int | None, int | None]:
        """The controller's word before PCI's: behind a card's own switch PCI tells the link inside the card."""
        if sysfs.asleep(card.handle):
            return None, None
        metrics = amd_metrics.read(card.handle / "gpu_metrics")
        if metrics and metrics.pcie_generation and metrics.pcie_width:
            return metrics.pcie_generation, metrics.pcie_width
        return sysfs.link(card.handle, "current")

    def pcie_bytes_per_s(self, card: Card) -> tuple[float | None, float | None]:
        """The file pcie_bw blocks for a second: not read."""
        return None, None

    def untold(self, card: Card) -> Mapping[str, Text]:
        if sysfs.asleep(card.handle):
            return {"*": ASLEEP}
        return {"pcie": _PCIE_BLOCKS, "throttle": _NO_THROTTLE}


def open_amd() -> AmdGpus:
    """The files, with AMD's library beside them where it is installed and there is a card to ask about."""
    plain = AmdGpus()
    return AmdGpus(library=open_amd_smi()) if plain.cards() else plain


def _integrated(folder: Path) -> bool:
    """Whether it is a processor's graphics: by the form of the card's own table; by its memory where it has none."""
    metrics = amd_metrics.read(folder / "gpu_metrics")
    if metrics is not None:
        return metrics.integrated
    own, shared = _pool(folder, "vram"), _pool(folder, "gtt")
    return own is not None and shared is not None and own.total_bytes <= _CARVED_BYTES < shared.total_bytes


def _memory(folder: Path, integrated: bool) -> Memory | None:
    own, shared = _pool(folder, "vram"), _pool(folder, "gtt")
    if own is None:
        return None
    total, used = own.total_bytes, own.used_bytes
    if integrated and shared is not None and shared.total_bytes > total:
        total, used = total + shared.total_bytes, used + shared.used_bytes
    return Memory(total, min(used, total), max(0, total - used))


def _pool(folder: Path, kind: str) -> Memory | None:
    total, used = (sysfs.number(folder / f"mem_info_{kind}_{what}") for what in ("total", "used"))
    return Memory(total, used, max(0, total - used)) if total and total > 0 and used is not None and used >= 0 else None


def _percent(value: int | None) -> float | None:
    return float(value) if value is not None and 0 <= value <= 100 else None


@functools.lru_cache(maxsize=64)
def _listed_name(files: tuple[Path, ...], device: str | None, revision: str | None) -> str | None:
    """libdrm's table: "73BF,<tab>C0,<tab>AMD Radeon RX 6900 XT", device and revision as PCI tells them."""
    if not device or not revision:
        return None
    wanted = (device.removeprefix("0x").upper().lstrip("0"), revision.removeprefix("0x").upper().lstrip("0"))
    for file in files:
        for line in (sysfs.text(file) or "").splitlines():
            parts = [part.strip() for part in line.split(",", 2)]
            if len(parts) == 3 and (parts[0].upper().lstrip("0"), parts[1].upper().lstrip("0")) == wanted:
                return parts[2] or None
    return None
