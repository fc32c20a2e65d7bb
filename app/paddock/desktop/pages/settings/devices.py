"""The devices that the engine lists, the cards that drivers know, and what they say at this moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QPushButton, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.settings.parts import listing
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, row, rule
from paddock.desktop.parts.blocks import ProgressLine
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.hardware import telling
from paddock.hardware.model import Device, Gpu, Machine
from paddock.hardware.telling import Row
from paddock.units import bytes_text
from paddock.work.looking import Look, look_anew

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_NAMES = 168


class DevicesSection(QWidget):
    """A row a device; its details open below it. Nothing is measured before a person asks for it."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._seen: Look | None = None
        self._open: set[str] = set()
        self._buttons: dict[str, QPushButton] = {}
        holder, self._list = listing()
        self._reading = ProgressLine()
        self.read = button(tr("Read now"), "refresh-cw", self._read)
        acts = QWidget()
        acts.setLayout(row(self.read, self._reading, None))
        self.setLayout(column(holder, acts, gap=4))
        desk.machineChanged.connect(self.refresh)
        desk.enginesChanged.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the machine as it is known; readings stay those that were asked for."""
        machine = self._desk.machine
        self.read.setEnabled(machine is not None)
        held = next((name for name, one in self._buttons.items() if one.hasFocus()), None)
        self._buttons = {}
        empty_layout(self._list)
        if machine is None:
            self._list.addWidget(Label(tr("Reading what this computer has…"), "note", "text2"))
            return
        engine = self._desk.engine()
        failed = str(engine.devices_error) if engine is not None and engine.devices_error else ""
        if failed:
            self._add(_head("circle-x", "bad", tr("failed"), tr("The engine could not list its devices"), "", failed,
                            tr("What the drivers know is shown below."), None))
        elif not machine.devices:
            self._list.addWidget(Label(tr("The engine lists no device beside the processor."), "note", "text2"))
        for device in machine.devices:
            self._add(self._device(device))
        self._add(self._host(machine))
        for gpu in telling.unlisted(machine):
            self._add(_card(gpu))
        for text in machine.notes:
            note = Label(str(text), "note", "text2", wrap=True)
            note.setContentsMargins(0, 4, 0, 0)
            self._list.addWidget(note)
        if held in self._buttons:
            self._buttons[held].setFocus(Qt.FocusReason.OtherFocusReason)

    def _add(self, made: QWidget) -> None:
        self._list.addWidget(made)
        self._list.addWidget(rule())

    def _device(self, device: Device) -> QWidget:
        words = tr("{kind}: {total}, {free} free", kind=telling.kind_text(device), total=bytes_text(device.total_bytes),
                   free=_free(device))
        doubt = device.match_note is not None or device.memory_note is not None or (
            device.gpu is not None and device.gpu.error is not None)
        note = str(device.memory_note or device.match_note or "")
        opened = device.name in self._open
        more = button(tr("Hide details") if opened else tr("Details"), None, lambda: self._toggle(device.name),
                      small=True, name=tr("Details of {device}", device=device.name))
        more.setCheckable(True)
        more.setChecked(opened)
        self._buttons[device.name] = more
        head = _head("triangle-alert" if doubt else "circle-check", "warn" if doubt else "ok",
                     tr("needs a look") if doubt else tr("usable"), device.name, device.description, words, note, more)
        if not opened:
            return head
        made = QWidget()
        made.setLayout(column(head, self._details(device), gap=0))
        return made

    def _details(self, device: Device) -> QWidget:
        rows = telling.facts(device)[1:]  # whose memory it is stands above
        seen = self._seen
        readings = {one.device: one for one in seen.reading.devices} if seen is not None else {}
        if seen is not None and device.name in readings and device.same_as is None:
            why = seen.why.get(device.name, {})
            if "*" in why and device.gpu is None:
                rows = [*rows, Row(why["*"], "")]
            else:
                rows = [*rows, *telling.gathered(telling.live(readings[device.name], why))]
        return _table(rows, device.name)

    def _host(self, machine: Machine) -> QWidget:
        words = tr("RAM: {total}, {free} free", total=bytes_text(machine.ram_total_bytes),
                   free=bytes_text(machine.ram_available_bytes))
        return _head("circle-check", "ok", tr("usable"), tr("Host"), machine.cpu_name or "", words, "", None)

    def _toggle(self, name: str) -> None:
        self._open ^= {name}
        if name in self._open and self._seen is None:
            self._read()
        self.refresh()

    @Slot()
    def _read(self) -> None:
        """A second or two: the engine lists its devices, and counters of energy need two readings."""
        engine, workspace = self._desk.engine(), self._desk.workspace
        self.read.setEnabled(False)
        job = bridge.run(lambda: look_anew(workspace, engine), self._looked, self._failed, self,
                         name="devices")
        self._reading.follow(job, tr("Asking the engine and the drivers"), cancellable=False)

    def _looked(self, seen: Look) -> None:
        self._seen = seen
        if not self._open:
            self._open = {device.name for device in seen.machine.devices}
        self.refresh()

    def _failed(self, error: AppError) -> None:
        self.read.setEnabled(True)
        self._desk.failed.emit(error)


def _head(icon: str, role: str, says: str, name: str, what: str, words: str, note: str,
          more: QWidget | None) -> QWidget:
    sign = IconLabel(icon, 16, role, says=says)
    title = QWidget()
    line = row(Label(name, weight=500), Label(what, "body", "text2", elide="end"), gap=8)
    line.setStretch(1, 1)
    title.setLayout(line)
    parts: list[QWidget] = [title, Label(words, "note", "text2", wrap=True)]
    if note:
        parts.append(Label(note, "note", "warn" if role == "warn" else "text2", wrap=True))
    made = QWidget()
    whole = row(sign, column(*parts, gap=1), more, gap=12, margins=(0, 8, 0, 8)) if more is not None else row(
        sign, column(*parts, gap=1), gap=12, margins=(0, 8, 0, 8))
    whole.setAlignment(sign, Qt.AlignmentFlag.AlignTop)
    whole.setStretch(1, 1)
    if more is not None:
        whole.setAlignment(more, Qt.AlignmentFlag.AlignTop)
    made.setLayout(whole)
    return made


def _card(gpu: Gpu) -> QWidget:
    words = tr("{total}; this engine does not list it", total=bytes_text(gpu.total_bytes))
    return _head("triangle-alert", "warn", tr("not usable with this engine"), gpu.name, gpu.pci_id or "", words,
                 str(gpu.error or ""), None)


def _free(device: Device) -> str:
    return f"≤ {bytes_text(device.free_bytes)}" if device.free_assumed else bytes_text(device.free_bytes)


def _table(rows: list[Row], name: str) -> QWidget:
    """Name, value, and why it is missing or what it means."""
    made = QWidget()
    made.setAccessibleName(tr("Details of {device}", device=name))
    grid = QGridLayout(made)
    grid.setContentsMargins(28, 0, 0, 8)
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(2)
    grid.setColumnMinimumWidth(0, theme().px(_NAMES))
    grid.setColumnStretch(1, 1)
    for place, one in enumerate(rows):
        title = Label(str(one.name), "note", "text2", wrap=True)
        if not one.value:
            grid.addWidget(title, place, 0, 1, 2)
            continue
        parts: list[QWidget] = [Label(one.value, "note", wrap=True)]
        if one.note is not None:
            parts.append(Label(str(one.note), "note", "text2", wrap=True))
        cell = QWidget()
        cell.setLayout(column(*parts, gap=0))
        grid.addWidget(title, place, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(cell, place, 1)
    return made
