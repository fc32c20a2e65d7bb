"""A mark on the time axis with a note, at the moment when it was asked for and not when the note was written."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from paddock.desktop.pages.marklist import LONGEST, MarkList, mark_text, marks_of
from paddock.desktop.parts.basic import Label, button, column, row
from paddock.desktop.plots.scale import clock_text
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.session.model import Event

_WIDTH = 420
_SHOWN = 6


class MarkDialog(QDialog):
    """One line to write; Enter keeps it. The plots go on meanwhile. Below it the marks of this run so far, to be edited
    or deleted."""

    def __init__(self, run: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        snapshot = run.recorder.snapshot()
        self._run, self.moment = run, float(snapshot.t)
        self.setWindowTitle(tr("Mark event"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(theme().px(_WIDTH))
        self.words = Label(tr("A note at {time} on the time axis:", time=clock_text(self.moment)))
        self.note = QLineEdit()
        self.note.setAccessibleName(tr("Note"))
        self.note.setPlaceholderText(tr("such as: opened the browser, second client"))
        self.note.setMaxLength(LONGEST)
        self.keep = button(tr("Mark event"), "flag", self.accept, primary=True)
        self.keep.setDefault(True)
        self.before = MarkList()
        self.before.changed.connect(self._change)
        self._show_marks()
        below = row(None, self.keep, button(tr("Cancel"), None, self.reject), gap=8)
        self.setLayout(column(self.words, self.note, self.before, below, gap=12, margins=(16, 16, 16, 12)))
        self.note.setFocus()

    def _show_marks(self) -> None:
        events = self._run.recorder.snapshot().events
        self.before.show_marks(events)
        self.before.setAccessibleDescription(marks_words(events))

    def _change(self, mark: Event, note: str | None) -> None:
        if note is None:
            self._run.recorder.change_mark(mark, None)
        else:
            self._run.recorder.change_mark(mark, mark_text(note), note=note)
        self._show_marks()

    def accept(self) -> None:
        text = self.note.text().strip()
        self._run.recorder.mark(mark_text(text), at=self.moment, note=text)
        super().accept()


def marks_words(events: tuple[Event, ...]) -> str:
    """The newest marks of a run, one a line, the newest first."""
    marks = marks_of(events)
    lines = [f"{clock_text(e.t)}  {e.text}" for e in reversed(marks[-_SHOWN:])]
    if len(marks) > _SHOWN:
        lines.append(tr("and {number} earlier", number=str(len(marks) - _SHOWN)))
    return "\n".join(lines)
