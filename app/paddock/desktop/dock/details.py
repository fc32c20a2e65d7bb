"""The estimate in full: each part of each device with its band and how it is known, and who else holds memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QGridLayout, QVBoxLayout, QWidget

from paddock.desktop.parts.basic import Label, button, column, empty_layout, row, rule
from paddock.desktop.parts.memory import term_word
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.parts.signs import Chip, verdict_word
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.model import DeviceEstimate, Known, Term
from paddock.text import Text
from paddock.units import bytes_text, gib_text
from paddock.work.foretelling import ceiling_text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.fit.closing import Holder
    from paddock.fit.model import Estimate
    from paddock.work.others import Others

_WIDTH, _HEIGHT = 640, 560


def known_words(known: Known) -> str:
    """How a figure is known, for people."""
    return {Known.MEASURED: tr("measured here"), Known.CHECKED: tr("checked by running llama.cpp"),
            Known.SOURCE: tr("from llama.cpp’s source"), Known.REPORTS: tr("from reports")}[known]


def band_words(term: Term) -> str:
    """"300 to 600 MiB"; "exact" where it is one figure."""
    if term.low == term.high:
        return tr("exact")
    low, high = bytes_text(term.low, 1), bytes_text(term.high, 1)
    return tr("{low} to {high}", low=low, high=high)


def closed_words(holder: Holder, others: Others) -> str:
    """What the verdict would become."""
    found = next((c for c in others.closings if c.holders == (holder,)), None)
    if found is None:
        return ""
    if found.after is found.before:
        return tr("still {verdict}", verdict=verdict_word(found.after).lower())
    return verdict_word(found.after)


class DetailsDialog(QDialog):
    """Stays open beside the form and follows the plan."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self.setWindowTitle(tr("The estimate in full"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.chip = Chip()
        self.reason = Label("", wrap=True)
        self._body = QVBoxLayout()
        self._body.setSpacing(theme().px(12))
        inner = QWidget()
        inner.setLayout(column(self._body, None, margins=(0, 0, 12, 0)))
        self._scroll = scrolling(inner, tr("Parts of the estimate"))
        self.close_button = button(tr("Close"), None, self.reject)
        top = row(self.chip, self.reason, gap=8)
        top.setStretch(1, 1)
        self.setLayout(column(top, rule(), self._scroll, rule(), row(None, self.close_button), gap=12,
                              margins=(16, 16, 16, 12)))
        self.resize(theme().px(_WIDTH), theme().px(_HEIGHT))
        desk.previewChanged.connect(self.refresh)
        desk.whatIfChanged.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Read it anew from the desk."""
        preview = self._desk.preview
        found = preview.estimate if preview is not None else None
        empty_layout(self._body)
        self.chip.setVisible(found is not None)
        if found is None:
            self.reason.setText(tr("There is no estimate yet: choose a model first."))
            return
        self.chip.show_verdict(found.verdict)
        self.reason.setText(str(found.reason))
        for device in found.devices:
            if device.total or device.high or device.name == "Host":
                self._body.addLayout(_device(device))
        what_if = self._desk.what_if
        self._add_others(what_if.others if what_if.plan == self._desk.plan else None)
        self._add_notes(found, ceiling_text(preview.ceiling, preview.ceiling_full) if preview is not None else None)

    def _add_others(self, others: Others | None) -> None:
        if others is None or not (others.holders or others.untold):
            return
        self._body.addWidget(Label(tr("Memory held by others"), weight=600))
        if others.holders:
            rows = [(h.name, h.words, closed_words(h, others)) for h in others.holders]
            closed = tr("If it were closed") if others.closings else ""
            self._body.addLayout(_table((tr("Program"), tr("Holds"), closed), rows, frozenset()))
        together = next((c for c in others.closings if len(c.holders) > 1), None)
        for text in (None if together is None else together.text, others.untold_text):
            if text is not None:
                self._body.addWidget(Label(str(text), "note", "text2", wrap=True))

    def _add_notes(self, found: Estimate, speed: Text | None) -> None:
        told = {t.note for d in found.devices for t in d.terms}
        notes = [n for n in (*found.notes, speed) if n is not None and n not in told]
        if not notes:
            return
        self._body.addWidget(Label(tr("What to know"), weight=600))
        for note in notes:
            self._body.addWidget(Label(str(note), "note", "text2", wrap=True))


def _device(device: DeviceEstimate) -> QVBoxLayout:
    """Heading and the parts of one device."""
    name = tr("Host, RAM") if device.name == "Host" else device.name
    chip = Chip()
    chip.show_verdict(device.verdict)
    free = device.budget.free_bytes if device.budget is not None else None
    words = tr("needs {need} GiB; what is free is not known", need=gib_text(device.total))
    if free is not None:
        words = tr("needs {need} of {free} GiB free", need=gib_text(device.total), free=gib_text(free))
    if device.margin:
        words = tr("{words}, margin {margin}", words=words, margin=gib_text(device.margin))
    head = row(Label(name, weight=600), Label(words, "note", "text2"), None, chip, gap=8)
    terms = [t for t in device.terms if t.bytes or t.high]
    rows = [(term_word(t.id), bytes_text(t.bytes, 1), band_words(t), known_words(t.known)) for t in terms]
    rows.append((tr("In all"), bytes_text(device.total, 1), tr("up to {size}", size=bytes_text(device.high, 1)), ""))
    heads = (tr("Part"), tr("Size"), tr("Between"), tr("How it is known"))
    return column(head, _table(heads, rows, frozenset((1, 2)), [str(t.note or "") for t in terms]), gap=4)


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: frozenset[int],
           notes: Sequence[str] = ()) -> QGridLayout:
    """Rows of texts under their headings, each with its note below it."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(theme().px(16))
    grid.setVerticalSpacing(theme().px(3))
    for at, cells in enumerate([heads, *rows]):
        for i, text in enumerate(cells):
            long = i == 0 and not right
            cell = Label(text, "caption" if at == 0 else "note", "text2" if at == 0 else "text",
                         elide="end" if long else None, wrap=not right and i == 1)
            cell.setAlignment((Qt.AlignmentFlag.AlignRight if i in right else Qt.AlignmentFlag.AlignLeft)
                              | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(cell, 2 * at, i)
        note = notes[at - 1] if 0 < at <= len(notes) else ""
        if note:
            grid.addWidget(Label(note, "caption", "text2", wrap=True), 2 * at + 1, 0, 1, len(heads))
    if right:
        grid.setColumnMinimumWidth(0, theme().px(110))
        grid.setColumnMinimumWidth(1, theme().px(90))
        grid.setColumnMinimumWidth(2, theme().px(150))
        grid.setColumnStretch(len(heads) - 1, 1)
    else:
        grid.setColumnStretch(0, 2)
        grid.setColumnStretch(1, 3)
        grid.setColumnMinimumWidth(2, theme().px(130))
    return grid
