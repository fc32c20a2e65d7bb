"""A picture of the processor: its cores, and how many of them the plan's threads use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.hardware.model import Machine
from paddock.launch.checks.threads import mask_cpus, range_cpus
from paddock.launch.model import Plan

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

HEIGHT = 92


@dataclass(frozen=True)
class Use:
    """One kind of work. `cpus`: the numbers that its mask or range allows; None where any CPU may be used."""

    threads: int
    cpus: frozenset[int] | None


def uses(plan: Plan, machine: Machine) -> tuple[Use, Use]:
    """What generates, and what processes prompts. Unset threads are one for each physical core; those for prompts are
    as many as for generation, and the masks for prompts count only with -tb (as the checks say)."""
    cores = machine.physical_cores or machine.logical_cores

    def threads(name: str, usual: int) -> int:
        number = plan.integer(name)
        return number if number is not None and number > 0 else usual

    def cpus(mask: str, span: str) -> frozenset[int] | None:
        found = [c for c in (mask_cpus(plan.get(mask) or ""), range_cpus(plan.get(span) or "", machine.logical_cores))
                 if c is not None]
        return frozenset().union(*found) if found else None

    generation = Use(threads("threads", cores), cpus("cpu-mask", "cpu-range"))
    if (plan.integer("threads-batch") or 0) <= 0:
        return generation, generation
    own = cpus("cpu-mask-batch", "cpu-range-batch")
    return generation, Use(threads("threads-batch", generation.threads), own)


class CoresPicture(QWidget):
    """Two strips, generation and prompts: a box is a core, its parts are the CPUs that the system counts."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__(parent)
        self._desk = desk
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        desk.planChanged.connect(self.refresh)
        desk.machineChanged.connect(self.refresh)
        theme().changed.connect(self.update)
        self.refresh()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(400), theme().px(HEIGHT))

    @Slot()
    def refresh(self) -> None:
        self.setAccessibleName(self.sentence())
        self.setToolTip(self.sentence())
        self.update()

    def sentence(self) -> str:
        """The picture in words."""
        machine = self._desk.machine
        if machine is None:
            return tr("The processor is not known yet.")
        first, second = uses(self._desk.plan, machine)
        cores = machine.physical_cores or machine.logical_cores
        text = tr("{cores} cores, {cpus} CPUs. Generation uses {first} threads, prompts {second}.", cores=cores,
                  cpus=machine.logical_cores, first=first.threads, second=second.threads)
        warning = self._warning(machine, (first, second))
        return f"{text} {warning}".strip()

    def _warning(self, machine: Machine, both: tuple[Use, Use]) -> str:
        cores = machine.physical_cores
        narrow = next((u for u in both if u.cpus is not None and len(u.cpus) < u.threads), None)
        outside = next((max(u.cpus) for u in both if u.cpus and max(u.cpus) >= machine.logical_cores), None)
        if outside is not None:
            return tr("There is no CPU {number}.", number=outside)
        if narrow is not None and narrow.cpus is not None:
            return tr("{threads} threads share {cpus} CPUs.", threads=narrow.threads, cpus=len(narrow.cpus))
        if cores is not None and both[0].threads > cores:
            return tr("More threads than cores usually generate slower.")
        return ""

    def paintEvent(self, _event: QPaintEvent) -> None:
        t, machine = theme(), self._desk.machine
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, t.color("line"))
        left, label = t.px(26), t.px(92)
        if machine is None:
            painter.setFont(t.font("note"))
            painter.setPen(t.color("text2"))
            painter.drawText(self.rect().adjusted(left, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.sentence())
            return
        strips = uses(self._desk.plan, machine)
        top = t.px(10)
        for name, use in zip((tr("Generation"), tr("Prompts")), strips, strict=True):
            painter.setFont(t.font("note"))
            painter.setPen(t.color("text2"))
            painter.drawText(QRectF(left, top, label, t.px(20)), Qt.AlignmentFlag.AlignVCenter, name)
            painter.drawText(QRectF(self.width() - t.px(96), top, t.px(80), t.px(20)),
                             Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight,
                             tr("{threads} threads", threads=use.threads))
            room = QRectF(left + label, top, self.width() - left - label - t.px(104), t.px(20))
            _paint_strip(painter, room, machine, use)
            top += t.px(26)
        painter.setFont(t.font("caption"))
        warning = self._warning(machine, strips)
        painter.setPen(t.color("warn" if warning else "text2"))
        painter.drawText(QRectF(left, top, self.width() - left - 16, t.px(18)), Qt.AlignmentFlag.AlignVCenter,
                         warning or _legend(machine, strips))


def _legend(machine: Machine, both: tuple[Use, Use]) -> str:
    if any(u.cpus is not None for u in both):
        return tr("Boxes are CPUs, as the system counts them; empty ones are outside the mask.")
    if (machine.physical_cores or 0) and machine.logical_cores > (machine.physical_cores or 0):
        return tr("A box is a core; its halves are the CPUs that share it. Which core a thread gets, the system says.")
    return tr("A box is a core.")


def _paint_strip(painter: QPainter, room: QRectF, machine: Machine, use: Use) -> None:
    """By core where any CPU may be used; by number where a mask says which."""
    t = theme()
    cores = machine.physical_cores or machine.logical_cores
    numbered = use.cpus is not None
    count = machine.logical_cores if numbered else cores
    parts = 1 if numbered else max(1, machine.logical_cores // max(1, cores))
    gap = 2.0 if room.width() / max(1, count) > 6 else 1.0
    width = min(t.px(22), (room.width() - gap * (count - 1)) / max(1, count))
    for index in range(count):
        box = QRectF(room.left() + index * (width + gap), room.top() + 2, max(1.0, width), room.height() - 4)
        painter.setPen(t.color("edge"))
        painter.setBrush(t.color("base"))
        painter.drawRect(box)
        for part in range(parts):
            # One thread for each core first, then the second halves: what the systems' schedulers do.
            on = index in (use.cpus or ()) if numbered else part * cores + index < use.threads
            if on:
                height = box.height() / parts
                painter.fillRect(QRectF(box.left() + 1, box.bottom() - (part + 1) * height + 1, box.width() - 1,
                                        height - 1), t.data(1) if part == 0 else t.data(1, 0.55))
