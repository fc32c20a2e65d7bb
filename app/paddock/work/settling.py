"""After a server ended: wait until its cards have really given the memory back."""

from __future__ import annotations

import time
from collections.abc import Callable

from paddock.hardware import Machine

APART_S = 0.15
PATIENCE_S = 3.0


def settled(machine: Machine, read: Callable[[Machine], Machine], *, apart_s: float = APART_S,
            patience_s: float = PATIENCE_S, sleep: Callable[[float], object] = time.sleep,
            clock: Callable[[], float] = time.monotonic) -> Machine:
    """The machine when two readings in a row say the same, or when patience is over (the last reading then).

    Only cards that a driver counts are waited for: a remote device or the processor is right at once.
    """
    now = read(machine)
    end = clock() + patience_s
    while any(d.gpu is not None for d in now.devices) and clock() < end:
        sleep(apart_s)
        before, now = now, read(now)
        if _free(before) == _free(now):
            break
    return now


def _free(machine: Machine) -> list[int | None]:
    return [d.free_bytes for d in machine.devices if d.gpu is not None]
