"""Reading what Linux' graphics drivers keep as files under /sys/class/drm and /proc. Nothing to load, nothing to fail.

Sources: the kernel's Documentation/hwmon/sysfs-interface (temp in millidegrees, power in microwatts, energy in
microjoules, freq in Hz), Documentation/ABI/testing/sysfs-bus-pci (current_link_speed, current_link_width) and
sysfs-devices-power (runtime_status), Documentation/gpu/drm-usage-stats (the drm-* lines of fdinfo).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from paddock.hardware.model import GpuProcess
from paddock.units import KIB, MIB

DRM = Path("/sys/class/drm")
PROC = Path("/proc")
_CARD = re.compile(r"card(\d+)")
_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_GENERATIONS = ((2.5, 1), (5.0, 2), (8.0, 3), (16.0, 4), (32.0, 5), (64.0, 6))
_FDINFO = re.compile(r"^(drm-[a-z0-9-]+):[ \t]*(.*?)[ \t]*$", re.M)
_AMOUNT = re.compile(r"(\d+)(?: (KiB|MiB))?")
_UNITS = {None: 1, "KiB": KIB, "MiB": MIB}


def cards(drm: Path, vendor: str) -> list[tuple[Path, Path]]:
    """(the card's folder, its device's folder) of one maker, by PCI vendor ("0x1002"), in the order of card numbers."""
    found: list[tuple[int, Path]] = []
    try:
        for path in drm.iterdir():
            if match := _CARD.fullmatch(path.name):
                found.append((int(match[1]), path))
    except OSError:
        return []
    folders = [(path, (path / "device").resolve()) for _, path in sorted(found)]
    return [(card, device) for card, device in folders if text(device / "vendor") == vendor]


def bus_of(device: Path) -> str | None:
    """The PCI address by which the device's folder is called; None for parts that are on no PCI bus."""
    name = device.name.lower()
    return name if _BUS.fullmatch(name) else None


def asleep(device: Path) -> bool:
    """Whether the card is switched off to save power: its sensors cannot be read then, or reading would wake it."""
    return text(device / "power" / "runtime_status") == "suspended"


def link(device: Path, which: str) -> tuple[int | None, int | None]:
    """PCIe generation and lanes of the link to the device, "current" or "max"."""
    speed = re.match(r"(\d+(?:\.\d+)?)", text(device / f"{which}_link_speed") or "")
    width = number(device / f"{which}_link_width")
    return generation(float(speed[1])) if speed else None, width if width and width < 255 else None


def generation(transfers: float) -> int | None:
    """The PCIe generation of a speed in GT/s."""
    return next((one for speed, one in _GENERATIONS if abs(speed - transfers) < 0.05), None)


def sensor(device: Path, names: Iterable[str], unit: float) -> float | None:
    """The first of these hwmon files that tells a figure, divided by the unit."""
    try:
        monitors = sorted((device / "hwmon").iterdir())
    except OSError:
        return None
    for name in names:
        for one in monitors:
            value = number(one / name)
            if value is not None:
                return value / unit
    return None


def labelled(device: Path, kind: str, label: str) -> float | None:
    """The raw figure of the hwmon channel that carries this label: labelled(device, "energy", "card")."""
    try:
        found = sorted((device / "hwmon").glob(f"*/{kind}*_label"))
    except OSError:
        return None
    for path in found:
        if (text(path) or "").lower() == label:
            return number(path.with_name(path.name.replace("_label", "_input")))
    return None


def processes(proc: Path, pids: frozenset[int], bus: str | None, regions: re.Pattern[str]) -> (
        tuple[GpuProcess, ...] | None):
    """What some processes hold on a card; the driver keeps these figures with each process's open files.

    `regions`: the names of the memory to count ("drm-resident-vram0"). None where nothing is told of any of them.
    """
    sizes = ((pid, _held(proc, pid, bus, regions)) for pid in sorted(pids))
    found = [GpuProcess(pid, None, size) for pid, size in sizes if size is not None]
    return tuple(found) if found else None


def _held(proc: Path, pid: int, bus: str | None, regions: re.Pattern[str]) -> int | None:
    clients: dict[str, int] = {}
    try:
        entries = list((proc / str(pid) / "fdinfo").iterdir())
    except OSError:
        return None
    for entry in entries:
        facts = dict(_FDINFO.findall(text(entry) or ""))
        if bus is not None and facts.get("drm-pdev") == bus and "drm-client-id" in facts:
            # one client may have several open files: each tells the same
            clients[facts["drm-client-id"]] = sum(
                _bytes(value) for name, value in facts.items() if regions.fullmatch(name))
    return sum(clients.values()) if clients else None


def _bytes(value: str) -> int:
    match = _AMOUNT.fullmatch(value)
    return int(match[1]) * _UNITS[match[2]] if match else 0


def number(path: Path) -> int | None:
    """A whole number, or None: no such file, not readable now, or something else in it."""
    found = text(path)
    return int(found) if found is not None and re.fullmatch(r"-?\d{1,19}", found) else None


def text(path: Path) -> str | None:
    """The file's words without the blanks around them; None where it cannot be read."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None
