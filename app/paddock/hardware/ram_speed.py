"""How fast this computer reads its RAM: a short test on demand, never by itself. A caller keeps what it found."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil

_LEAST_BLOCK, _ALL_BLOCKS = 32 << 20, 256 << 20
"""Bytes that each thread, and that all together read in a round at least: beyond the caches of their cores."""
_MOST_THREADS = 16
LIMIT_S = 0.25


def measure_ram_speed(seconds: float = LIMIT_S, threads: int | None = None, block: int | None = None) -> float:
    """Bytes per second that all cores read together, in the best round of so long (plus the time to fill the blocks).

    The best, since other programs only ever make a round slower. `threads`: by default as many as there are cores;
    `block`: bytes for each. A thread takes the dot product of its block with itself (a library routine that runs
    outside the interpreter's lock), so that every byte is read once a round. MemoryError where there is no room.
    """
    count = threads or min(_MOST_THREADS, psutil.cpu_count(logical=False) or os.cpu_count() or 1)
    size = block or max(_LEAST_BLOCK, _ALL_BLOCKS // count)
    blocks = [np.ones(size // 4, dtype=np.float32) for _ in range(count)]
    gate, ended = threading.Barrier(count + 1), threading.Event()

    def read(values: np.ndarray) -> None:
        pieces = np.array_split(values, 8)
        while True:
            gate.wait()
            if ended.is_set():
                return
            for piece in pieces:
                float(piece.dot(piece))
            gate.wait()

    with ThreadPoolExecutor(count) as pool:
        for values in blocks:
            pool.submit(read, values)
        rounds = list(_rounds(gate, seconds))
        ended.set()
        gate.wait()
    return count * size / min(rounds)


def _rounds(gate: threading.Barrier, seconds: float) -> Iterator[float]:
    """How long each round took; at least two, the first one being slower by what starts then."""
    start, done = time.perf_counter(), 0
    while done < 2 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        gate.wait()
        gate.wait()
        done += 1
        yield time.perf_counter() - before
