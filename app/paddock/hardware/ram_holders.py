"""Which programs hold this computer's RAM: read once, on demand, since it looks at every process."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable

import psutil

LEAST = 256 << 20
_MOST = 6


def ram_holders(processes: Iterable[psutil.Process] | None = None) -> list[tuple[str, tuple[int, ...], int]]:
    """(program, its pids, bytes) of the largest programs but our own, the largest first.

    Bytes are what a program keeps for itself, as far as the system tells it cheaply: resident less shared pages on
    Linux, resident elsewhere. Processes that may not be looked at are left out.
    """
    sizes: dict[str, int] = defaultdict(int)
    pids: dict[str, list[int]] = defaultdict(list)
    own = os.getpid()
    for process in psutil.process_iter() if processes is None else processes:
        try:
            name, memory = process.name(), process.memory_info()
        except (psutil.Error, OSError):
            continue
        if process.pid != own and name:
            sizes[name] += max(0, memory.rss - getattr(memory, "shared", 0))
            pids[name].append(process.pid)
    found = sorted(((name, tuple(pids[name]), size) for name, size in sizes.items() if size >= LEAST),
                   key=lambda one: -one[2])
    return found[:_MOST]
