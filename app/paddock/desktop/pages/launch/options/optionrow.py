"""One row: label over flags | editor | default over effect or reason | take back, back to the default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRect, Qt, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolButton, QWidget

from paddock.desktop.pages.launch.options.editing import put, said
from paddock.desktop.pages.launch.options.editors import (
    ChoiceEditor,
    DecidedEditor,
    Editor,
    NumberEditor,
    SwitchEditor,
    TextEditor,
    default_on,
)
from paddock.desktop.pages.launch.options.entries import PREFIX, UNKNOWN, Entry
from paddock.desktop.pages.launch.options.lists import ItemsEditor, KeptEditor, PrefixEditor, RepeatEditor
from paddock.desktop.pages.launch.options.measures import (
    Columns,
    Note,
    columns,
    note_of,
    paint_marked,
    paint_note,
)
from paddock.desktop.pages.launch.options.states import RowState
from paddock.desktop.parts.basic import tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.catalogue import Kind

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


PLACED = ("override-tensor", "n-cpu-moe", "cpu-moe", "n-cpu-ffn", "gpu-layers")
"""Options whose effect the view Placement shows, layer by layer."""


def editor_for(desk: Desk, entry: Entry) -> Editor:
    """The editor of this kind of option."""
    if entry.group == UNKNOWN:
        return KeptEditor(desk, entry)
    if entry.group == PREFIX:
        return PrefixEditor(desk, entry)
    if entry.kind in (Kind.FLAG, Kind.PAIR):
        decided = entry.kind is Kind.PAIR and default_on(entry) is None
        return DecidedEditor(desk, entry) if decided else SwitchEditor(desk, entry)
    if entry.kind is Kind.LIST and entry.choices:
        return ItemsEditor(desk, entry)
    if entry.appends and not entry.secret:
        return RepeatEditor(desk, entry)
    if entry.kind is Kind.ENUM:
        return ChoiceEditor(desk, entry)
    if entry.kind in (Kind.INT, Kind.FLOAT, Kind.RANGE):
        return NumberEditor(desk, entry)
    return TextEditor(desk, entry)


class OptionRow(QWidget):
    """A row; `picked` comes when it is clicked. Locked rows take the focus themselves, so that Tab finds the reason."""

    picked = Signal(str)
    resized = Signal()

    def __init__(self, desk: Desk, entry: Entry, parent: QWidget) -> None:
        super().__init__(parent)
        self.desk = desk
        self.entry = entry
        self.state = RowState()
        self.editor = editor_for(desk, entry)
        self.editor.setParent(self)
        self.editor.touched.connect(self.resized)
        self.map: QToolButton | None = None
        if entry.key in PLACED:
            self.map = tool_button("table-2", tr("Show in Placement: {name}", name=entry.label),
                                   lambda: desk.pageWanted.emit("launch", "placement"))
            self.map.setParent(self)
        self.undo: QToolButton | None = None
        self.clear: QToolButton | None = None
        self._columns: Columns = columns(600)
        self._note = Note("")
        self._terms: Sequence[str] = ()
        self._current = False
        self._shown: object = None
        theme().changed.connect(self.update)

    def sync(self, state: RowState, effect: str, terms: Sequence[str], reasons: dict[str, str]) -> None:
        """Show this state; the parts that are the same are left alone."""
        note = note_of(self.entry, state, effect, self.editor.problem)
        key = (state, note, tuple(terms), tuple(reasons.items()), self.editor.lines())
        if key == self._shown:
            return
        self._shown = key
        self.state, self._terms, self._note = state, terms, note
        if isinstance(self.editor, ChoiceEditor):
            self.editor.reasons = reasons
        self.editor.sync(state)
        self._offer_acts()
        off = bool(state.lock) or state.kept
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if off else Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(f"{self.entry.label}, {self.entry.flags}")
        parts = [said(self.entry, state.value) if not self.entry.secret else "", note.default, note.text,
                 tr("changed since it was saved") if state.changed else ""]
        words = ". ".join(part for part in parts if part)
        self.setAccessibleDescription(words)
        for stop in self.editor.stops():
            stop.setAccessibleDescription(words)
        self._place()
        self.update()

    def _offer_acts(self) -> None:
        """Take back, where it differs from the saved plan; back to the default, where that is something else."""
        back = self.state.changed
        clear = self.state.is_set and (not back or bool(self.state.saved))
        if back and self.undo is None:
            self.undo = tool_button("undo-2", tr("Take back: {name}", name=self.entry.label), self._take_back)
            self.undo.setParent(self)
        if clear and self.clear is None:
            self.clear = tool_button("x", tr("Take out: {name}", name=self.entry.label), self._take_out)
            self.clear.setParent(self)
        for made, wanted in ((self.undo, back), (self.clear, clear)):
            if made is not None:
                made.setVisible(wanted)

    def _take_back(self) -> None:
        self.desk.edit(put(self.entry, self.desk.plan, self.state.saved))

    def _take_out(self) -> None:
        self.desk.edit(put(self.entry, self.desk.plan, ()))

    def stops(self) -> list[QWidget]:
        """What Tab visits, in order."""
        acts = [w for w in (self.undo, self.clear, self.map) if w is not None]
        return [self, *self.editor.stops(), *acts]

    def first_stop(self) -> QWidget:
        """Where the focus goes when the row is chosen."""
        return next((w for w in self.stops() if w.isEnabled() and w.focusPolicy() & Qt.FocusPolicy.TabFocus), self)

    def set_current(self, on: bool) -> None:
        """Tint it: its help is shown."""
        if on != self._current:
            self._current = on
            self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        elif event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)

    def _place(self) -> None:
        t = theme()
        self._columns = c = columns(self.width())
        if self.map is not None:  # a third button stands where the others' notes end
            self._columns = c = replace(c, note_width=max(t.px(40), c.note_width - t.px(26)))
        whole = QFontMetrics(t.font("flag")).horizontalAdvance(self.entry.flags) <= c.label_width
        self.setToolTip("" if whole else self.entry.flags)
        wanted = max(t.px(28), self.editor.sizeHint().height())
        top = max(0, (self.height() - wanted) // 2)
        self.editor.setGeometry(c.editor, top, c.editor_width, min(wanted, self.height()))
        side = t.px(24)
        right = self.width() - t.px(12)
        for made in (self.map, self.clear, self.undo):
            if made is not None and made.isVisibleTo(self):
                right -= side
                made.setGeometry(right, (self.height() - side) // 2, side, side)
                right -= t.px(2)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self.picked.emit(self.entry.key)
        self.first_stop().setFocus(Qt.FocusReason.MouseFocusReason)

    def _flags(self) -> str:
        """The two usual spellings; while searching the one that was found besides."""
        shown = self.entry.short_flags
        found = [n for n in self.entry.names if n not in shown and any(t in n.lower() for t in self._terms)]
        return ", ".join([*found[:1], shown]) if found and not any(t in shown.lower() for t in self._terms) else shown

    def paintEvent(self, _event: QPaintEvent) -> None:
        t, c = theme(), self._columns
        painter = QPainter(self)
        if self._current:
            painter.fillRect(self.rect(), t.color("sel"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, t.color("line"))
        off = bool(self.state.lock) or self.state.kept
        middle = self.height() if self.editor.lines() == 1 else min(self.height(), t.px(44))
        top = (middle - t.px(36)) // 2
        if self.state.changed:
            painter.fillRect(t.px(13), top + 2, 3, t.px(30), t.color("accent"))
        painter.setFont(t.font("body", 500 if self.state.changed or self.state.is_set else 400))
        painter.setPen(t.color("text3" if off else "text"))
        paint_marked(painter, self.entry.label, QRect(c.label, top, c.label_width, t.px(20)), self._terms)
        painter.setFont(t.font("flag"))
        painter.setPen(t.color("text3" if off else "text2"))
        paint_marked(painter, self._flags(), QRect(c.label, top + t.px(20), c.label_width, t.px(16)), self._terms)
        paint_note(painter, self._note, QRect(c.note, 2, c.note_width, self.height() - 4), off)
        if self.hasFocus():
            painter.setPen(QPen(t.color("accent"), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -2))
