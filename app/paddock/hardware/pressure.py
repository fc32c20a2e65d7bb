"""What the host is short of while something runs: processor time, memory that has to come from the disk.

Linux tells it in /proc (proc(5)): `procs_running` and the steal column of /proc/stat, major faults in /proc/PID/stat,
bytes really fetched from storage in /proc/PID/io, swapped memory in /proc/PID/status. Elsewhere those are NaN.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

NAN = math.nan
PROC = Path("/proc")
_CACHE_EVERY_S = 5.0
_PROBES = 256
"""Pages looked at per file: a share known to about 3 %."""


@dataclass(frozen=True)
class HostPressure:
    """The host at one moment. Rates are means since the reading before; NaN at the first and where not told."""

    cores_pct: tuple[float, ...] = ()
    """Load of each logical core, 0…100."""
    steal_pct: float = NAN
    """Processor time that a hypervisor gave to others, in percent of all cores."""
    run_queue: float = NAN
    """Threads that run or want to run, at this moment."""
    disk_read_bytes_per_s: float = NAN
    """The whole machine's."""
    process_read_bytes_per_s: float = NAN
    """Fetched from storage for the asked processes, mapped files included."""
    process_faults_per_s: float = NAN
    """Page faults that had to wait for the disk."""
    process_swap_bytes: float = NAN
    model_cached: float = NAN
    """Part of the model's files that is in the page cache, 0…1, from samples."""


class PressureReader:
    """Reads it now and then, for one thread. `files`: the model's files."""

    def __init__(self, files: Sequence[Path] = (), proc: Path = PROC) -> None:
        self._files, self._proc = tuple(files), proc
        self._cores: list[tuple[float, float]] = []
        self._steal = (NAN, NAN)
        self._t = -math.inf
        self._sums: dict[str, float] = {}
        self._pids: frozenset[int] = frozenset()
        self._cached, self._cached_t = NAN, -math.inf

    def read(self, now: float, pids: Iterable[int]) -> HostPressure:
        """`now`: monotonic seconds. Takes well under a millisecond, two where the page cache is looked at."""
        pids = frozenset(pids)
        cores, steal = self._processor()
        sums = {"disk": _disk_read(), "read": self._sum(pids, _read_bytes), "faults": self._sum(pids, _faults)}
        span, before, same = now - self._t, self._sums, pids == self._pids
        self._t, self._sums, self._pids = now, sums, pids
        if self._files and now - self._cached_t >= _CACHE_EVERY_S:
            self._cached, self._cached_t = cached_share(self._files), now

        def rate(name: str) -> float:
            grown = sums[name] - before.get(name, NAN)
            # Other processes than before, or a counter that began anew: nothing can be said yet.
            return grown / span if span > 0 and grown >= 0 and (same or name == "disk") else NAN

        return HostPressure(cores, steal, _running(self._proc), rate("disk"), rate("read"), rate("faults"),
                            self._sum(pids, _swapped), self._cached)

    def _processor(self) -> tuple[tuple[float, ...], float]:
        times = psutil.cpu_times(percpu=True)
        now = [(_total(one), one.idle + getattr(one, "iowait", 0.0)) for one in times]
        stolen = (sum(getattr(one, "steal", NAN) for one in times), sum(total for total, _ in now))
        before, self._cores = self._cores, now
        last, self._steal = self._steal, stolen
        if len(before) != len(now):
            return (), NAN
        cores = tuple(_share(new[0] - old[0], new[1] - old[1]) for new, old in zip(now, before, strict=True))
        all_time = stolen[1] - last[1]
        return cores, 100 * (stolen[0] - last[0]) / all_time if all_time > 0 else NAN

    def _sum(self, pids: frozenset[int], one: Callable[[Path], float | None]) -> float:
        known = [value for pid in pids if (value := one(self._proc / str(pid))) is not None]
        return float(sum(known)) if known else NAN


def _total(times: object) -> float:
    """Linux counts the time of guests within "user" as well."""
    whole = float(sum(times))  # type: ignore[call-overload]
    return whole - float(getattr(times, "guest", 0.0)) - float(getattr(times, "guest_nice", 0.0))


def _share(total: float, idle: float) -> float:
    return min(100.0, max(0.0, 100 * (1 - idle / total))) if total > 0 else NAN


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _running(proc: Path) -> float:
    found = re.search(r"^procs_running (\d+)$", _text(proc / "stat"), re.M)
    return float(found[1]) if found else NAN


def _disk_read() -> float:
    try:
        told = psutil.disk_io_counters()
    except (OSError, RuntimeError, ValueError):
        return NAN
    return float(told.read_bytes) if told is not None else NAN


def _read_bytes(folder: Path) -> float | None:
    found = re.search(r"^read_bytes: (\d+)$", _text(folder / "io"), re.M)
    return float(found[1]) if found else None


def _faults(folder: Path) -> float | None:
    """majflt is the tenth field after the name, which may hold blanks and brackets."""
    fields = _text(folder / "stat").rpartition(")")[2].split()
    return float(fields[9]) if len(fields) > 9 else None


def _swapped(folder: Path) -> float | None:
    found = re.search(r"^VmSwap:\s+(\d+) kB$", _text(folder / "status"), re.M)
    return float(found[1]) * 1024 if found else None


def cached_share(files: Iterable[Path]) -> float:
    """Part of these files' pages that the page cache holds, 0…1, weighted by size; NaN where the system hides it.

    Looks at evenly spread pages with mincore(2), which answers truly only for files that we own or may write to.
    """
    if not sys.platform.startswith("linux"):
        return NAN
    held = size = 0.0
    for file in files:
        try:
            share, length = _cached_file(file)
        except OSError:
            return NAN
        held, size = held + share * length, size + length
    return held / size if size else NAN


def _cached_file(file: Path) -> tuple[float, int]:
    """(share, bytes). OSError where it cannot be told."""
    stat = file.stat()
    if stat.st_uid != os.geteuid() and not os.access(file, os.W_OK):
        raise PermissionError(file)
    if not stat.st_size:
        return 0.0, 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        start = libc.mmap(None, stat.st_size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    finally:
        os.close(descriptor)
    if start in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        return _probe(libc, start, stat.st_size), stat.st_size
    finally:
        libc.munmap(start, stat.st_size)


def _probe(libc: ctypes.CDLL, start: int, size: int) -> float:
    pages = -(-size // mmap.PAGESIZE)
    count = min(_PROBES, pages)
    held = 0
    told = ctypes.create_string_buffer(1)
    for i in range(count):
        page = i * pages // count
        if libc.mincore(start + page * mmap.PAGESIZE, 1, told) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        held += told.raw[0] & 1
    return held / count
