"""The slots now: what each does, how far its prompt is, its context against the limit, marked at 75 and 100 %."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from paddock.desktop.pages.run.context_model import NEARLY, SlotShown, slots_of, waiting_words
from paddock.desktop.parts.basic import Label, column, row
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.plots import ink
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.units import missing

_MOST = 32
"""More rows say nothing to a person; of more slots those that work are shown."""


class SlotBar(QWidget):
    """Context used as a fill, a prompt under way hatched above it, uprights at 75 % (dashed) and 100 % (the end)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slot: SlotShown | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(160), theme().px(16))

    def show_slot(self, slot: SlotShown) -> None:
        if slot != self._slot:
            self._slot = slot
            self.setAccessibleName(slot.sentence)
            self.setToolTip(slot.sentence)
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        slot, painter = self._slot, QPainter(self)
        box = QRectF(self.rect()).adjusted(0.5, 2.5, -0.5, -2.5)
        painter.fillRect(box, ink.role("alt"))
        if slot is None:
            return
        share = 0.0 if missing(slot.share) else min(1.0, slot.share)
        fill = QRectF(box.left(), box.top(), box.width() * share, box.height())
        painter.fillRect(fill, ink.data(slot.id % 6 + 1))
        if slot.phase == "prompt":
            ink.hatch(painter, fill)
            if not missing(slot.progress):
                # How far the prompt is: a line under the bar, the cached part of it lighter.
                low = QRectF(box.left(), self.height() - 2.0, box.width(), 2.0)
                painter.fillRect(low, ink.role("line"))
                painter.fillRect(QRectF(low.left(), low.top(), low.width() * slot.progress, 2.0), ink.role("accent"))
                painter.fillRect(QRectF(low.left(), low.top(), low.width() * min(slot.cached, slot.progress), 2.0),
                                 ink.role("text3"))
        at = box.left() + box.width() * NEARLY
        painter.setPen(ink.pen(ink.role("text2"), ink.EVENT_DASH))
        painter.drawLine(QLineF(at, 0, at, self.height()))
        tone = "edge" if slot.tone == "text" else slot.tone
        painter.setPen(ink.pen(ink.role(tone)))
        painter.drawRect(box)
        painter.setPen(ink.pen(ink.role("bad"), width=2.0))
        painter.drawLine(QLineF(box.right(), 0, box.right(), self.height()))


class SlotRow(QWidget):
    """Number, what it does, its bar, its figures."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = Label("", weight=500)
        self.name.setMinimumWidth(theme().px(44))
        self.words = Label("", "note", "text2", wrap=True)
        self.figures = Label("", "note")
        self.figures.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.bar = SlotBar()
        self.setLayout(column(row(self.name, None, self.figures, gap=8), self.bar, self.words, gap=2))

    def show_slot(self, slot: SlotShown) -> None:
        self.name.setText(tr("Slot {number}", number=str(slot.id)))
        self.words.setText(slot.words)
        self.figures.setText(slot.figures)
        self.figures.look(role=slot.tone, weight=400 if slot.tone == "text" else 600)
        self.bar.show_slot(slot)


class SlotsPane(QFrame):
    """All slots, `show_snapshot` twice a second."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: list[SlotRow] = []
        self.note = Label("", "note", "text2", wrap=True)
        self._list = column(gap=10)
        inner = QWidget()
        inner.setLayout(column(self.note, self._list, None, gap=8, margins=(12, 8, 12, 8)))
        self.setLayout(column(scrolling(inner, tr("Slots")), gap=0))

    def show_snapshot(self, snapshot: Any) -> None:
        """The newest sample's slots."""
        slots = slots_of(snapshot)
        shown = slots if len(slots) <= _MOST else [s for s in slots if s.phase != "idle"][:_MOST]
        while len(self.rows) < len(shown):
            made = SlotRow()
            self.rows.append(made)
            self._list.addWidget(made)
        for i, line in enumerate(self.rows):
            line.setVisible(i < len(shown))
            if i < len(shown):
                line.show_slot(shown[i])
        self.note.setText(self._words(snapshot, slots, len(shown)))
        self.note.setVisible(bool(self.note.full_text()))

    @staticmethod
    def _words(snapshot: Any, slots: list[SlotShown], shown: int) -> str:
        if snapshot.sample is not None and snapshot.sample.sleeping:
            return tr("The server sleeps; the next request wakes it.")
        if not slots:
            return tr("The server has not told of its slots yet. With --no-slots it never does.")
        parts = [waiting_words(snapshot)]
        if shown < len(slots):
            parts.append(tr("{idle} of {slots} slots are idle and not shown", idle=str(len(slots) - shown),
                            slots=str(len(slots))))
        return "; ".join(part for part in parts if part)
