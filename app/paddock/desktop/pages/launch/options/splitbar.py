"""One bar over the devices: each boundary is dragged, or moved with the arrow keys, and -ts follows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from paddock.desktop.pages.launch.placement.handles import SplitHandle
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.hardware.model import Device
from paddock.launch.model import Plan

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

HEIGHT = 84
_WHOLE = 100
_MARGIN_LEFT, _MARGIN_RIGHT, _TOP, _BAR = 26, 16, 28, 26


def shares(plan: Plan, devices: Sequence[Device]) -> tuple[list[float], bool]:
    """Percent of each device, and whether the plan says so: unset, llama.cpp goes by free memory."""
    said = _numbers(plan.get("tensor-split") or "")
    numbers = (said + [0.0] * len(devices))[:len(devices)]
    given = sum(numbers) > 0
    if not given:
        numbers = [float(d.free_bytes or d.total_bytes or 0) for d in devices]
    whole = sum(numbers)
    return [_WHOLE * n / whole if whole else _WHOLE / len(devices) for n in numbers], given


def _numbers(text: str) -> list[float]:
    try:
        found = [float(part) for part in re.split(r"[,/]", text) if part.strip()]
    except ValueError:
        return []
    return found if all(0 <= n < float("inf") for n in found) else []


def in_use(plan: Plan, devices: Sequence[Device]) -> list[Device]:
    """The devices that the plan leaves in use, in its order."""
    wanted = [name.strip() for name in (plan.get("device") or "").split(",") if name.strip()]
    if not wanted:
        return list(devices)
    return [d for name in wanted for d in devices if d.name == name]


def moved(percent: Sequence[float], boundary: int, to: float) -> list[int]:
    """Whole percents with this boundary (between `boundary` and the next device) at `to` percent from the left; its
    two neighbours share what they had."""
    edges = [sum(percent[:n + 1]) for n in range(len(percent))]
    low = edges[boundary - 1] if boundary else 0.0
    edges[boundary] = min(max(to, low), edges[boundary + 1])
    rounded = [round(edge) for edge in edges]
    return [after - before for before, after in zip([0, *rounded[:-1]], rounded, strict=True)]


class SplitBar(QWidget):
    """A part for each device, with its name and share."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__(parent)
        self._desk = desk
        self._devices: list[Device] = []
        self._percent: list[float] = []
        self._given = False
        self.handles: list[SplitHandle] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        desk.planChanged.connect(self.refresh)
        desk.machineChanged.connect(self.refresh)
        theme().changed.connect(self.update)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """As the plan and the machine say."""
        machine = self._desk.machine
        devices = in_use(self._desk.plan, machine.devices if machine is not None else ())
        if [d.name for d in devices] != [d.name for d in self._devices]:
            self._devices = devices
            self._make_handles()
        self._devices = devices
        self._percent, self._given = shares(self._desk.plan, devices) if devices else ([], False)
        self._show()

    def _make_handles(self) -> None:
        for old in self.handles:
            old.hide()
            old.deleteLater()
        self.handles = []
        for at, (left, right) in enumerate(zip(self._devices, self._devices[1:], strict=False)):
            handle = SplitHandle(left.name, right.name, self)
            handle.dragged.connect(partial(self._dragged, at))
            handle.stepped.connect(partial(self._stepped, at))
            handle.show()
            self.handles.append(handle)

    def _show(self) -> None:
        text = self.sentence()
        self.setAccessibleName(text)
        for at, handle in enumerate(self.handles):
            place = self._room().left() + self._room().width() * sum(self._percent[:at + 1]) / _WHOLE
            handle.move(round(place - handle.width() / 2), theme().px(_TOP) - handle.height())
            handle.show_shares(text)
        self.update()

    def sentence(self) -> str:
        """The bar in words."""
        if len(self._devices) < 2:
            return tr("There are not two devices to share the model between.")
        parts = ", ".join(f"{d.name} {round(p)} %" for d, p in zip(self._devices, self._percent, strict=True))
        return (tr("Shares of the model: {shares}.", shares=parts) if self._given
                else tr("Shares of the model, by free memory unless you move a boundary: {shares}.", shares=parts))

    def _room(self) -> QRectF:
        t = theme()
        left = t.px(_MARGIN_LEFT)
        return QRectF(left, t.px(_TOP), max(1, self.width() - left - t.px(_MARGIN_RIGHT)), t.px(_BAR))

    def _dragged(self, boundary: int, x: float, done: bool) -> None:
        room = self._room()
        new = moved(self._percent, boundary, _WHOLE * (x - room.left()) / room.width())
        if done:
            self._write(new)
        else:
            self._percent, self._given = [float(n) for n in new], True
            self._show()

    def _stepped(self, boundary: int, by: int) -> None:
        at = sum(self._percent[:boundary + 1])
        self._write(moved(self._percent, boundary, round(at) + by))

    def _write(self, percent: Sequence[int]) -> None:
        if len(percent) > 1:
            self._desk.edit(self._desk.plan.with_("tensor-split", ",".join(str(n) for n in percent)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show()

    def paintEvent(self, _event: QPaintEvent) -> None:
        t, room = theme(), self._room()
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, t.color("line"))
        painter.setFont(t.font("note"))
        if len(self._devices) > 1:
            left = room.left()
            for at, (device, percent) in enumerate(zip(self._devices, self._percent, strict=True)):
                part = QRectF(left, room.top(), room.width() * percent / _WHOLE, room.height())
                painter.setPen(t.color("edge"))
                painter.setBrush(t.data(1, 0.25 if at % 2 else 0.5))
                painter.drawRect(part)
                painter.setPen(t.color("text"))
                inner = part.adjusted(6, 0, -6, 0)
                words = f"{device.name}  {round(percent)} %"
                painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter, painter.fontMetrics().elidedText(
                    words, Qt.TextElideMode.ElideRight, max(0, int(inner.width()))))
                left = part.right()
        painter.setFont(t.font("caption"))
        painter.setPen(t.color("text2"))
        below = QRectF(room.left(), room.bottom() + 4, room.width(), t.px(18))
        note = "" if len(self._devices) < 2 or self._given else tr("By free memory, unless you move a boundary.")
        painter.drawText(below, Qt.AlignmentFlag.AlignVCenter, self.sentence() if len(self._devices) < 2 else note)
