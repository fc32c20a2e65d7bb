"""The machine, what its drivers say at this moment, and why they say no more: for a person who looks at it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.engine import Engine, list_devices
from paddock.errors import AppError
from paddock.hardware import Machine, Reading, Readings, refresh
from paddock.hardware.readings import Explained, explain
from paddock.work.run import ENDED

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


def look_anew(workspace: Workspace, engine: Engine | None) -> Look:
    """The same after the engine listed its devices once more, so that what no driver counts is fresh too.

    While a server of ours runs the list stays as it is: to make it, an engine takes memory of every card for a moment.
    """
    machine = workspace.machine(engine, again=True)
    if engine is not None and all(run.state in ENDED for run in workspace.runs):
        try:
            machine = refresh(machine, list_devices(engine))
        except AppError:
            pass  # what is known of the machine stays; why listing fails is told where the engine is
    return look(machine)
