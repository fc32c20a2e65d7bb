"""The marks of a session, each with its note to be changed and a button to delete it: live and in the history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from paddock.desktop.parts.basic import Label, column, empty_layout, row, tool_button
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.plots.scale import clock_text
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.session.model import Event

LONGEST = 200
_ROWS = 6


def marks_of(events: Sequence[Event]) -> list[Event]:
    """The person's own, oldest first."""
    return [event for event in events if event.kind == "mark"]


def mark_text(note: str) -> str:
    """What a mark with this note says on the time axis."""
    return tr("note: {text}", text=note) if note else tr("mark")


def note_of(mark: Event) -> str:
    """The person's words of a mark. One that was stored without them has its whole text."""
    return str(mark.data["note"]) if "note" in mark.data else mark.text


class _NoteLine(QLineEdit):
    """Enter keeps the note and goes no further: in a dialog it would press the default button."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.editingFinished.emit()
            event.accept()
        else:
            super().keyPressEvent(event)


class MarkList(QWidget):
    """Hidden where there is none. Enter, or leaving a line, changes a note."""

    changed = Signal(object, object)
    """Event as it was, and the new note; None: delete it"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines: list[QLineEdit] = []
        self._shown: list[Event] = []
        self._rows = column(gap=4)
        inner = QWidget()
        inner.setLayout(column(self._rows, None, gap=0))
        self._area = scrolling(inner, tr("Marks"), focus=False)
        self.setLayout(column(Label(tr("Marks"), weight=600), self._area, gap=4))
        self.show_marks(())

    def show_marks(self, events: Sequence[Event]) -> None:
        """All anew where something has changed, the newest first."""
        marks = marks_of(events)[::-1]
        self.setVisible(bool(marks))
        if marks == self._shown:
            return
        self._shown = marks
        empty_layout(self._rows)
        self.lines = []
        for mark in marks:
            self._rows.addLayout(self._row(mark))
        high = theme().px(32)
        self._area.setFixedHeight(high * min(len(marks), _ROWS) + theme().px(4))

    def _row(self, mark: Event) -> QHBoxLayout:
        at = clock_text(mark.t)
        line = _NoteLine(note_of(mark))
        line.setMaxLength(LONGEST)
        line.setCursorPosition(0)
        line.setToolTip(note_of(mark))
        line.setAccessibleName(tr("Note of the mark at {time}", time=at))
        line.editingFinished.connect(partial(self._edited, mark, line))
        self.lines.append(line)
        bin_ = tool_button("trash-2", tr("Delete the mark at {time}", time=at), partial(self.changed.emit, mark, None))
        made = row(Label(at, "note", "text2"), line, bin_, gap=8)
        made.setStretch(1, 1)
        return made

    def _edited(self, mark: Event, line: QLineEdit) -> None:
        note = line.text().strip()
        if note != note_of(mark) and mark in self._shown:
            self.changed.emit(mark, note)
