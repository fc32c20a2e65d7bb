"""Servers that run already, of this Paddock or another on the same data folder: a further one has what they left."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from paddock.fit import Estimate
from paddock.hardware import Machine
from paddock.hardware.model import Device, GpuProcess
from paddock.server import record
from paddock.text import Text

_KEPT_S = 2.0


@dataclass(frozen=True)
class Serving:
    """A running server: its processes (a wrapper's and a router's children included), model and address."""

    pids: frozenset[int]
    label: str
    url: str


class Neighbours:
    """Read from the records of running servers. Any thread; the answer is kept for two seconds."""

    def __init__(self, runtime_folder: Path) -> None:
        self._folder = runtime_folder
        self._read_at = float("-inf")
        self._found: tuple[Serving, ...] = ()

    def serving(self) -> tuple[Serving, ...]:
        """Those that live now, in the order of their start."""
        now = time.monotonic()
        if now - self._read_at >= _KEPT_S:
            records = [record.read(path) for path in sorted(self._folder.glob("*.json"))]
            self._found = tuple(_serving(one) for one in records if one is not None and one.lives())
            self._read_at = now
        return self._found

    def named(self, machine: Machine) -> Machine:
        """The machine with our servers called by their model among those who hold device memory."""
        if not any(device.processes for device in machine.devices):
            return machine
        names = {pid: str(Text("{model}, served by Paddock", model=one.label or one.url))
                 for one in self.serving() for pid in one.pids}
        return dataclasses.replace(machine, devices=tuple(_renamed(device, names) for device in machine.devices))

    def noted(self, found: Estimate) -> Estimate:
        """The estimate with a note of whom it counts as running."""
        running = self.serving()
        if not running or found.rejected is not None:
            return found
        names = ", ".join(one.label or one.url for one in running)
        note = Text("A server of Paddock runs already; what it holds is counted as used: {names}.",
                    plural="{count} servers of Paddock run already; what they hold is counted as used: {names}.",
                    count=len(running), names=names)
        return dataclasses.replace(found, notes=(*found.notes, note))


def _serving(one: record.Record) -> Serving:
    pids = {one.pid}
    try:
        pids |= {child.pid for child in psutil.Process(one.pid).children(recursive=True)}
    except psutil.Error:
        pass
    return Serving(frozenset(pids), one.label, one.url)


def _renamed(device: Device, names: dict[int, str]) -> Device:
    if not device.processes:
        return device
    called: list[GpuProcess] = [dataclasses.replace(p, name=names.get(p.pid, p.name)) for p in device.processes]
    return dataclasses.replace(device, processes=tuple(called))
