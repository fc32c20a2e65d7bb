"""AMD cards under Linux: the files that the amdgpu driver keeps under /sys/class/drm. Nothing to load, nothing to fail.

Sources: the kernel's documentation of amdgpu (mem_info_*, gpu_busy_percent, hwmon units: millidegree, microwatt, Hz)
and of drm-usage-stats (fdinfo). Not checked on such a card by us.
"""

from __future__ import annotations

import re
from pathlib import Path

from paddock.hardware.drivers import Card, Memory
from paddock.hardware.model import Gpu, GpuProcess
from paddock.units import KIB

DRM = Path("/sys/class/drm")
PROC = Path("/proc")
_AMD = "0x1002"
_APU_BYTES = 8 << 30
"""A carve-out of system memory is at most this large where GTT is larger; a card's own memory is not."""
_SPEEDS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
_FDINFO = re.compile(r"^(drm-pdev|drm-client-id|drm-memory-(?:vram|gtt)):\s*(\S+)", re.M)


class AmdGpus:
    """The amdgpu driver's files. `handle` of its cards is the folder of the device."""

    lost = False

    def __init__(self, drm: Path = DRM, proc: Path = PROC) -> None:
        self._drm = drm
        self._proc = proc

    def close(self) -> None:
        """Nothing is held."""

    def cards(self) -> list[Card]:
        found: list[Card] = []
        try:
            entries = sorted(path for path in self._drm.iterdir() if re.fullmatch(r"card\d+", path.name))
        except OSError:
            return []
        for entry in entries:
            folder = (entry / "device").resolve()
            if _text(folder / "vendor") == _AMD and _number(folder / "mem_info_vram_total"):
                found.append(Card(self._gpu(len(found), folder), folder, self))
        return found

    def _gpu(self, index: int, folder: Path) -> Gpu:
        memory = self._memory(folder)
        return Gpu(
            index=index,
            uuid=None,
            pci_id=folder.name.lower() if re.fullmatch(r"[0-9a-fA-F]{4}:.*", folder.name) else None,
            name=_text(folder / "product_name") or f"AMD GPU {index}",
            total_bytes=memory.total_bytes if memory else None,
            pcie_generation=_SPEEDS.get((_text(folder / "max_link_speed") or "").split(" ")[0]),
            pcie_width=_number(folder / "max_link_width") or None,
            maker="amd",
        )

    def memory(self, card: Card) -> Memory | None:
        """The card's own memory; of a part without any, its carve-out and what it may take of the host's (GTT)."""
        return self._memory(card.handle)

    @staticmethod
    def _memory(folder: Path) -> Memory | None:
        total, used = _number(folder / "mem_info_vram_total"), _number(folder / "mem_info_vram_used")
        if not total or used is None:
            return None
        gtt, gtt_used = _number(folder / "mem_info_gtt_total"), _number(folder / "mem_info_gtt_used")
        if gtt and gtt_used is not None and total <= _APU_BYTES and gtt > total:
            total, used = total + gtt, used + gtt_used
        return Memory(total, min(used, total), max(0, total - used))

    def processes(self, card: Card, pids: frozenset[int]) -> tuple[GpuProcess, ...] | None:
        """Of the asked processes alone: the driver keeps its figures with each process's open files."""
        found = [GpuProcess(pid, None, size) for pid in sorted(pids)
                 if (size := self._held(pid, card.gpu.pci_id)) is not None]
        return tuple(found) if found else None

    def _held(self, pid: int, bus: str | None) -> int | None:
        clients: dict[str, int] = {}
        try:
            entries = list((self._proc / str(pid) / "fdinfo").iterdir())
        except OSError:
            return None
        for entry in entries:
            facts = dict(_FDINFO.findall(_text(entry) or ""))
            if facts.get("drm-pdev") == bus and "drm-client-id" in facts:
                clients[facts["drm-client-id"]] = sum(
                    int(value) * KIB for name, value in facts.items()
                    if name.startswith("drm-memory-") and value.isdecimal())
        return sum(clients.values()) if clients else None

    def utilisation(self, card: Card) -> tuple[float | None, float | None]:
        busy, memory = _number(card.handle / "gpu_busy_percent"), _number(card.handle / "mem_busy_percent")
        return (None if busy is None else float(busy)), (None if memory is None else float(memory))

    def clocks_mhz(self, card: Card) -> tuple[float | None, float | None]:
        return _scaled(card.handle, "freq1_input", 1e6), _scaled(card.handle, "freq2_input", 1e6)

    def power_w(self, card: Card) -> float | None:
        average = _scaled(card.handle, "power1_average", 1e6)
        return _scaled(card.handle, "power1_input", 1e6) if average is None else average

    def temperature_c(self, card: Card) -> float | None:
        return _scaled(card.handle, "temp1_input", 1e3)

    def throttle(self, card: Card) -> tuple[str, ...] | None:
        """Not told in a form that is the same for all cards."""
        return None

    def pcie_bytes_per_s(self, card: Card) -> tuple[float | None, float | None]:
        """The file pcie_bw blocks for a second: not read."""
        return None, None


def _scaled(folder: Path, name: str, unit: float) -> float | None:
    try:
        monitors = sorted((folder / "hwmon").iterdir())
    except OSError:
        return None
    value = next((value for one in monitors if (value := _number(one / name)) is not None), None)
    return None if value is None else value / unit


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and text.isdecimal() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None
