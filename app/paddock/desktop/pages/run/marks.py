"""A mark on the time axis with a note, at the moment when it was asked for and not when the note was written."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from paddock.desktop.parts.basic import Label, button, column, row
from paddock.desktop.plots.scale import clock_text
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.session.model import Event

_WIDTH = 420
_SHOWN = 6


class MarkDialog(QDialog):
    """One line to write; Enter keeps it. Below it the marks of this run so far. The plots go on meanwhile."""

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
        self.note.setMaxLength(200)
        self.keep = button(tr("Mark event"), "flag", self.accept, primary=True)
        self.keep.setDefault(True)
        before = marks_words(snapshot.events)
        self.before = Label(before, "note", "text2", wrap=True)
        self.before.setVisible(bool(before))
        below = row(None, self.keep, button(tr("Cancel"), None, self.reject), gap=8)
        self.setLayout(column(self.words, self.note, self.before, below, gap=12, margins=(16, 16, 16, 12)))
        self.note.setFocus()

    def accept(self) -> None:
        text = self.note.text().strip()
        self._run.recorder.mark(tr("note: {text}", text=text) if text else tr("mark"), at=self.moment)
        super().accept()


def marks_words(events: tuple[Event, ...]) -> str:
    """The newest marks of a run, one a line, the newest first."""
    marks = [e for e in events if e.kind == "mark"]
    lines = [f"{clock_text(e.t)}  {e.text}" for e in reversed(marks[-_SHOWN:])]
    if len(marks) > _SHOWN:
        lines.append(tr("and {number} earlier", number=str(len(marks) - _SHOWN)))
    return "\n".join(lines)
