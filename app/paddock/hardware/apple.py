"""Apple's own processors: graphics and processor share one memory, and system programs tell the rest.

Sources: sysctl(8) hw.memsize (bytes) and iogpu.wired_limit_mb (MiB, 0 for the system's own limit), `system_profiler
SPDisplaysDataType -json`, and `ioreg -r -d 1 -c IOAccelerator -a`, whose PerformanceStatistics hold "Device Utilization
%" and "In use system memory" (bytes) for every account. Power, clocks and temperature are told by powermetrics alone,
and to root alone. Not checked on such a machine by us.
"""

from __future__ import annotations

import functools
import json
import plistlib
import subprocess
import time
import xml.parsers.expat
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paddock.hardware.drivers import Card, Memory
from paddock.hardware.model import Gpu, GpuProcess
from paddock.text import Text
from paddock.units import MIB

_EVERY_S = 1.0
_PATIENCE_S = 5.0
_STATISTICS = ("/usr/sbin/ioreg", "-r", "-d", "1", "-w", "0", "-c", "IOAccelerator", "-a")
_PROFILE = ("/usr/sbin/system_profiler", "SPDisplaysDataType", "-json")
_ROOT_ONLY = Text("macOS tells this to its administrator alone (powermetrics).")
_NO_PROCESSES = Text("macOS does not tell what each process holds for graphics.")
_NO_BUS = Text("Processor and graphics share one memory: there is no bus between them.")

Run = Callable[[Sequence[str]], bytes | None]


def run_program(argv: Sequence[str]) -> bytes | None:
    """What a program of the system prints; None where it is not there, fails, or takes too long.

    The description of the machine takes a second and never changes: it is asked for once in a process.
    """
    return _profile() if tuple(argv) == _PROFILE else _run(argv)


@functools.cache
def _profile() -> bytes | None:
    return _run(_PROFILE)


def _run(argv: Sequence[str]) -> bytes | None:
    try:
        done = subprocess.run(list(argv), capture_output=True, timeout=_PATIENCE_S, check=False,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


class AppleGpus:
    """The graphics of an Apple processor. `run` gives what a program prints, or None."""

    lost = False

    def __init__(self, run: Run = run_program, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._clock = clock
        self._cards: list[Card] | None = None
        self._read_at = -_EVERY_S
        self._statistics: Mapping[str, Any] = {}

    def close(self) -> None:
        """Nothing is held."""

    def cards(self) -> list[Card]:
        """Asked once: the answer takes a second and does not change."""
        if self._cards is None:
            total, limit = self._sysctl("hw.memsize"), self._sysctl("iogpu.wired_limit_mb")
            entries = [entry for entry in _displays(self._run(_PROFILE)) if _is_apple(entry)]
            self._cards = [Card(_gpu(i, entry, total, limit), entry, self) for i, entry in enumerate(entries)]
        return self._cards

    def _sysctl(self, name: str) -> int | None:
        told = (self._run(("/usr/sbin/sysctl", "-n", name)) or b"").strip()
        return int(told) or None if told.isdigit() else None

    def _now(self) -> Mapping[str, Any]:
        now = self._clock()
        if now - self._read_at >= _EVERY_S:
            self._read_at = now
            self._statistics = _statistics(self._run(_STATISTICS))
        return self._statistics

    def memory(self, card: Card) -> Memory | None:
        """None: the memory is the host's, and the host counts it."""
        return None

    def shared(self, card: Card) -> Memory | None:
        """What graphics may pin of the host's memory, and what they hold of it now."""
        used, total = _whole(self._now().get("In use system memory")), card.gpu.total_bytes
        return Memory(total, min(used, total), max(0, total - used)) if used is not None and total else None

    def processes(self, card: Card, pids: frozenset[int]) -> tuple[GpuProcess, ...] | None:
        """Not told."""
        return None

    def utilisation(self, card: Card) -> tuple[float | None, float | None]:
        busy = _whole(self._now().get("Device Utilization %"))
        return (float(busy) if busy is not None and busy <= 100 else None), None

    def clocks_mhz(self, card: Card) -> tuple[float | None, float | None]:
        """Not told to ordinary accounts."""
        return None, None

    def power_w(self, card: Card) -> float | None:
        """Not told to ordinary accounts."""
        return None

    def temperature_c(self, card: Card) -> float | None:
        """Not told to ordinary accounts."""
        return None

    def throttle(self, card: Card) -> tuple[str, ...] | None:
        """Not told to ordinary accounts."""
        return None

    def pcie_link(self, card: Card) -> tuple[int | None, int | None]:
        """There is none."""
        return None, None

    def pcie_bytes_per_s(self, card: Card) -> tuple[float | None, float | None]:
        """There is none."""
        return None, None

    def untold(self, card: Card) -> Mapping[str, Text]:
        told = dict.fromkeys(("memory_load", "clocks", "power", "temperature", "throttle"), _ROOT_ONLY)
        return told | {"processes": _NO_PROCESSES, "pcie": _NO_BUS, "link": _NO_BUS}


def _gpu(index: int, entry: Mapping[str, Any], total: int | None, limit_mib: int | None) -> Gpu:
    return Gpu(
        index=index,
        uuid=None,
        pci_id=None,
        name=str(entry.get("sppci_model") or entry.get("_name") or "Apple GPU"),
        total_bytes=total,
        maker="apple",
        shared_bytes=limit_mib * MIB if limit_mib else total,
        integrated=True,
    )


def _displays(told: bytes | None) -> list[Mapping[str, Any]]:
    try:
        entries = json.loads(told or b"{}").get("SPDisplaysDataType")
    except (ValueError, AttributeError):
        return []
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _is_apple(entry: Mapping[str, Any]) -> bool:
    words = f"{entry.get('spdisplays_vendor', '')} {entry.get('sppci_model', '')}"
    return "apple" in words.lower()


def _statistics(told: bytes | None) -> Mapping[str, Any]:
    try:
        entries = plistlib.loads(told) if told else []
    except (plistlib.InvalidFileException, ValueError, xml.parsers.expat.ExpatError):
        return {}
    found = [entry.get("PerformanceStatistics") for entry in entries if isinstance(entry, dict)] if isinstance(
        entries, list) else []
    return next((one for one in found if isinstance(one, dict)), {})


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
