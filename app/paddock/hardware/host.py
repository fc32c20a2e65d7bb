"""The computer itself: processor, memory, load, and what a container leaves of them."""

from __future__ import annotations

import math
import platform
import re
import subprocess
import sys
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")
_NODES = Path("/sys/devices/system/node")
_CPUINFO = Path("/proc/cpuinfo")
_MODEL = re.compile(r"^(?:model name|Model|Hardware)\s*:\s*(.+?)\s*$", re.M)


def cpu_name(cpuinfo: Path = _CPUINFO) -> str | None:
    """As the system calls the processor; None where it does not say."""
    if sys.platform == "linux":
        match = _MODEL.search(_read(cpuinfo) or "")
        return match[1] if match else None
    if sys.platform == "darwin":
        try:
            run = subprocess.run(["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True,
                                 timeout=2, check=False, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return run.stdout.strip() or None
    return platform.processor() or None


def numa_nodes(folder: Path = _NODES) -> int:
    """Memory nodes with a processor; one where the system does not divide."""
    try:
        nodes = [path for path in folder.iterdir() if re.fullmatch(r"node\d+", path.name)]
    except OSError:
        return 1
    return max(1, sum(1 for path in nodes if (_read(path / "cpulist") or "").strip()))


def load_1min() -> float | None:
    try:
        return psutil.getloadavg()[0]
    except OSError:
        return None


class CpuLoad:
    """How busy all processors were between two readings. psutil's own is shared by everybody in the process."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None

    def read(self) -> float:
        """Percent, 0 to 100; NaN at the first reading and where no time has passed."""
        times = psutil.cpu_times()
        # Linux counts the time of guests within "user" as well.
        total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        idle = times.idle + getattr(times, "iowait", 0.0)
        before, self._before = self._before, (total, idle)
        if before is None or total <= before[0]:
            return math.nan
        return min(100.0, max(0.0, 100 * (1 - (idle - before[1]) / (total - before[0]))))


def memory(cgroup: Path = _CGROUP) -> tuple[int, int, bool]:
    """Total and available bytes, and whether a container limits them to less than the machine has.

    Page cache counts as available: it is given back before anything is killed.
    """
    machine = psutil.virtual_memory()
    limit, used = _number(cgroup / "memory.max"), _number(cgroup / "memory.current")
    if limit is None or limit >= machine.total:
        return machine.total, machine.available, False
    cache = re.search(r"^inactive_file (\d+)$", _read(cgroup / "memory.stat") or "", re.M)
    held = max(0, (used or 0) - (int(cache[1]) if cache else 0))
    return limit, max(0, min(machine.available, limit - held)), True


def _number(path: Path) -> int | None:
    text = (_read(path) or "").strip()
    return int(text) if text.isdecimal() else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return None
