"""The machine, what its drivers say at this moment, and why they say no more: for a person who looks at it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.hardware import Machine, Reading, Readings
from paddock.hardware.readings import Explained, explain

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace

_APART_S = 0.3
"""Counters of energy and idle time make a figure only of two readings."""


@dataclass(frozen=True)
class Look:
    """`why`: by device name, then by field, as `hardware.readings.explain` gives it."""

    machine: Machine
    reading: Reading
    why: Explained


def look(machine: Machine, *, sleep: Callable[[float], object] = time.sleep) -> Look:
    """One reading of every device. Takes half a second: not for the GUI thread."""
    readings = Readings(machine, tuple)
    try:
        readings.read()
        if any(device.gpu is not None for device in machine.devices):
            sleep(_APART_S)
        reading = readings.read()
    finally:
        readings.close()
    return Look(machine, reading, explain(machine))


def look_here(workspace: Workspace) -> Look:
    """The same for what the default engine sees, free memory read anew. Raises AppError for a bad --engine."""
    return look(workspace.machine(workspace.engine(), again=True))
