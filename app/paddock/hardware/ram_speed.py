"""How fast this computer reads its RAM: a short test on demand, never by itself. A caller keeps what it found."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil

_BLOCK = 32 << 20
"""Bytes that each thread reads over and over: beyond a core's share of the caches."""
_MOST_THREADS = 16
LIMIT_S = 0.3


def measure_ram_speed(seconds: float = LIMIT_S, threads: int | None = None, block: int = _BLOCK) -> float:
    """Bytes per second that all cores read together, measured for about so long (plus the time to fill the blocks).

    `threads`: by default as many as there are cores. Each takes the dot product of a block with itself (a library
    routine that runs outside the interpreter's lock), so that every byte counts once.
    """
    count = threads or min(_MOST_THREADS, psutil.cpu_count(logical=False) or os.cpu_count() or 1)
    blocks = [np.ones(block // 4, dtype=np.float32) for _ in range(count)]
    together = threading.Barrier(count)

    def read(values: np.ndarray) -> float:
        pieces = np.array_split(values, 8)
        together.wait()
        done, start = 0, time.perf_counter()
        while True:
            for piece in pieces:
                float(piece.dot(piece))
            done += values.nbytes
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                return done / elapsed

    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(read, blocks))
