"""Intel graphics under Linux: the files of the i915 and xe drivers.

Sources: the kernel's Documentation/ABI/testing/sysfs-driver-intel-i915-hwmon and -xe-hwmon (energy1 of the card,
energy2 of the package, temperatures by label), "DOC: Xe GT Throttle" and "DOC: Xe GT Frequency Management" in
drivers/gpu/drm/xe (tile#/gt#/freq0/act_freq in MHz, throttle/reason_*), i915's intel_gt_sysfs_pm.c
(gt/gt#/rps_act_freq_mhz, throttle_reason_*, rc6_residency_ms), Documentation/gpu/xe/xe-drm-usage-stats (fdinfo).
Neither driver has a file that tells how much of a card's memory is in use. Not checked on such a card by us.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from paddock.hardware import sysfs
from paddock.hardware.drivers import ASLEEP, Card, Memory
from paddock.hardware.model import Gpu, GpuProcess
from paddock.hardware.pci_names import pci_name
from paddock.hardware.rates import Rates
from paddock.hardware.sysfs import DRM, PROC
from paddock.text import Text

_INTEL = "0x8086"
_INTEGRATED_BUS = "0000:00:02.0"
"""Where Intel's processors have had their graphics since there are any; a card of its own lies behind a bridge."""
_REASONS = (
    (re.compile(r"(?:psys_)?pl\d|fastvmode|crit|psys_crit"), "power_limit"),
    (re.compile(r"iccmax|vr_tdc|p0_freq|edp"), "current_limit"),
    (re.compile(r"prochot"), "prochot"),
    (re.compile(r"(?:\w+_)?therm\w*|ratl"), "thermal_limit"),
)
_AWAKE = Text("The share of time in which the graphics part was awake: the work may be less.")
_NO_MEMORY = Text("Intel's driver does not tell how much of the memory is in use.")
_NO_BUSY_MEMORY = Text("Intel's driver does not tell how busy the memory is.")
_NO_TRAFFIC = Text("Intel's driver does not count PCIe traffic.")
_NO_POWER = Text("Intel's driver tells the power of cards of their own, not of a processor's graphics.")


class IntelGpus:
    """The files of i915 and xe. `handle` of its cards is (the card's folder, the device's folder)."""

    lost = False

    def __init__(self, drm: Path = DRM, proc: Path = PROC, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._drm = drm
        self._proc = proc
        self._rates = Rates(clock)
        self._known: dict[tuple[object, str], list[tuple[str, Path]]] = {}

    def _files(self, card: Card, kind: str) -> list[tuple[str, Path]]:
        """(name, file) of what a card's parts tell of a kind; looked for once: readings come ten times a second."""
        if (card.key, kind) not in self._known:
            self._known[card.key, kind] = list(_FILES[kind](card))
        return self._known[card.key, kind]

    def _numbers(self, card: Card, kind: str) -> list[tuple[str, int]]:
        told = ((name, sysfs.number(path)) for name, path in self._files(card, kind))
        return [(name, value) for name, value in told if value is not None]

    def close(self) -> None:
        """Nothing is held."""

    def cards(self) -> list[Card]:
        found: list[Card] = []
        for card, device in sysfs.cards(self._drm, _INTEL):
            if _driver(device) in ("i915", "xe"):
                found.append(Card(_gpu(len(found), device), (card, device), self))
        return found

    def memory(self, card: Card) -> Memory | None:
        """Not told by either driver."""
        return None

    def shared(self, card: Card) -> Memory | None:
        """Not told by either driver."""
        return None

    def processes(self, card: Card, pids: frozenset[int]) -> tuple[GpuProcess, ...] | None:
        """Of the asked processes alone: the driver keeps its figures with each process's open files."""
        return sysfs.processes(self._proc, pids, card.gpu.pci_id, _resident(card))

    def utilisation(self, card: Card) -> tuple[float | None, float | None]:
        """The busiest part's share of time awake; the drivers tell true load only through perf, to root."""
        if sysfs.asleep(card.handle[1]):
            return None, None
        idle = [self._rates.per_s((card.key, path), sysfs.number(path)) for _, path in self._files(card, "idle")]
        shares = [max(0.0, min(100.0, 100 - ms_per_s / 10)) for ms_per_s in idle if ms_per_s is not None]
        return max(shares, default=None), None

    def clocks_mhz(self, card: Card) -> tuple[float | None, float | None]:
        """The fastest part's clock; 0 while it sleeps. That of the memory is not told."""
        if sysfs.asleep(card.handle[1]):
            return None, None
        told = [value for _, value in self._numbers(card, "clock") if value >= 0]
        return (float(max(told)) if told else None), None

    def power_w(self, card: Card) -> float | None:
        """From the energy that the card (or, where that is not told, its package) has taken since it started."""
        device = card.handle[1]
        if sysfs.asleep(device):
            return None
        joules = sysfs.labelled(device, "energy", "card") or sysfs.sensor(device, ("energy1_input", "energy2_input"), 1)
        per_s = self._rates.per_s((card.key, "energy"), None if joules is None else int(joules))
        return None if per_s is None else per_s / 1e6

    def temperature_c(self, card: Card) -> float | None:
        device = card.handle[1]
        if sysfs.asleep(device):
            return None
        labelled = sysfs.labelled(device, "temp", "pkg")
        return labelled / 1e3 if labelled is not None else sysfs.sensor(device, ("temp1_input", "temp2_input"), 1e3)

    def throttle(self, card: Card) -> tuple[str, ...] | None:
        if sysfs.asleep(card.handle[1]):
            return None
        told = self._numbers(card, "throttle")
        if not told:
            return None
        return tuple(dict.fromkeys(_reason(name) for name, value in told if value))

    def pcie_link(self, card: Card) -> tuple[int | None, int | None]:
        device = card.handle[1]
        return (None, None) if card.gpu.integrated or sysfs.asleep(device) else sysfs.link(device, "current")

    def pcie_bytes_per_s(self, card: Card) -> tuple[float | None, float | None]:
        """Not told."""
        return None, None

    def untold(self, card: Card) -> Mapping[str, Text]:
        if sysfs.asleep(card.handle[1]):
            return {"*": ASLEEP}
        told = {"memory": _NO_MEMORY, "load": _AWAKE, "memory_load": _NO_BUSY_MEMORY, "pcie": _NO_TRAFFIC}
        return told | ({"power": _NO_POWER} if card.gpu.integrated else {})


def _driver(device: Path) -> str:
    return (device / "driver").resolve().name


def _gpu(index: int, device: Path) -> Gpu:
    bus = sysfs.bus_of(device)
    integrated = bus == _INTEGRATED_BUS
    generation, width = (None, None) if integrated else sysfs.link(device, "max")
    return Gpu(
        index=index,
        uuid=None,
        pci_id=bus,
        name=pci_name("8086", sysfs.text(device / "device")) or f"Intel GPU {index}",
        total_bytes=None,
        driver=_driver(device),
        pcie_generation=generation,
        pcie_width=width or None,
        maker="intel",
        integrated=integrated,
    )


def _gts(card: Card) -> Iterator[Path]:
    folder, device = card.handle
    yield from sorted((folder / "gt").glob("gt[0-9]*"))
    yield from sorted(device.glob("tile[0-9]*/gt[0-9]*"))


def _idle_files(card: Card) -> Iterator[tuple[str, Path]]:
    return _one_a_part(card, ("rc6_residency_ms", "gtidle/idle_residency_ms"), "power/rc6_residency_ms")


def _clock_files(card: Card) -> Iterator[tuple[str, Path]]:
    return _one_a_part(card, ("rps_act_freq_mhz", "freq0/act_freq"), "gt_act_freq_mhz")


def _one_a_part(card: Card, names: tuple[str, ...], older: str) -> Iterator[tuple[str, Path]]:
    found = [(gt.name, gt / name) for gt in _gts(card) for name in names if (gt / name).exists()]
    yield from found or [("gt0", card.handle[0] / older)]


def _throttle_files(card: Card) -> Iterator[tuple[str, Path]]:
    """(reason, file) of every part of the card; the overall status says no more than they do."""
    for gt in _gts(card):
        for path in sorted(gt.glob("throttle_reason_*")):
            name = path.name.removeprefix("throttle_reason_")
            if name != "status":
                yield name, path
        for path in sorted((gt / "freq0" / "throttle").glob("reason_*")):
            yield path.name.removeprefix("reason_"), path


_FILES: dict[str, Callable[[Card], Iterator[tuple[str, Path]]]] = {
    "idle": _idle_files, "clock": _clock_files, "throttle": _throttle_files}


def _reason(name: str) -> str:
    return next((plain for pattern, plain in _REASONS if pattern.fullmatch(name)), name)


def _resident(card: Card) -> re.Pattern[str]:
    """What takes memory of the card: its own regions where it has any, the host's where it has not."""
    return re.compile(r"drm-resident-(?:system\d*|stolen-system\d*|gtt|stolen)") if card.gpu.integrated else re.compile(
        r"drm-resident-(?:vram\d+|local\d+)")
