"""What is this machine now? Its devices once the engines are known, its free memory again every few seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

from paddock.desktop import bridge
from paddock.hardware.model import Machine

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_REFRESH_MS = 4000
_NOISE_BYTES = 32 << 20


def moved(before: Machine, now: Machine) -> bool:
    """Whether free memory changed by so much that a verdict could, or the devices did."""
    def frees(machine: Machine) -> list[tuple[str, int | None]]:
        return [(d.name, d.free_bytes) for d in machine.devices] + [("", machine.ram_available_bytes)]

    old, new = frees(before), frees(now)
    if [name for name, _ in old] != [name for name, _ in new]:
        return True
    return any((a is None) != (b is None) or abs((a or 0) - (b or 0)) > _NOISE_BYTES
               for (_, a), (_, b) in zip(old, new, strict=True))


class MachineWatch(QObject):
    """Reads the machine off the GUI thread and gives it to its desk when it has changed."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._desk = desk
        self.visible = True
        """A hidden window does not ask the driver for free memory."""
        self._timer = QTimer(self)
        self._timer.setInterval(_REFRESH_MS)
        self._timer.timeout.connect(self.refresh)

    def start(self) -> None:
        """Look every few seconds from now on."""
        self._timer.start()

    def stop(self) -> None:
        """Look no more."""
        self._timer.stop()

    def read(self, again: bool) -> None:
        """`again`: the free memory too, else what is known of the engine's machine will do."""
        engine = self._desk.engine()
        bridge.run(lambda: self._desk.workspace.machine(engine, again=again), self._taken, None, self, name="machine")

    def _taken(self, machine: Machine) -> None:
        desk = self._desk
        if desk.machine is None or moved(desk.machine, machine):
            desk.machine = machine
            desk.machineChanged.emit()
            desk.judge.request()
        if desk.entries is None and desk.scan_job is None:
            desk.scan()

    @Slot()
    def refresh(self) -> None:
        """The free memory anew, where a figure of it would be shown and nothing else is being asked."""
        desk = self._desk
        if self.visible and desk.engines is not None and desk.judge.quiet and desk.machine_before() is None:
            self.read(again=True)
