"""A session's tags and note: a line that shows them, a dialog that changes them."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QPlainTextEdit, QWidget

from paddock.desktop.parts.basic import Label, button, column, row, rule
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

_WIDTH = 460


class MarksLine(QWidget):
    """Tags as #words, the note after them; a link opens the dialog."""

    changed = Signal(list, str)
    """tags and note as the person wants them now"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tags: tuple[str, ...] = ()
        self._note = ""
        self.words = Label("", "note", "text2", elide="end")
        self.edit = button("", None, self.ask, link=True, small=True)
        whole = row(self.words, self.edit, None, gap=8)
        self.setLayout(whole)
        self.show_marks((), "")

    def show_marks(self, tags: tuple[str, ...], note: str) -> None:
        """All anew."""
        self._tags, self._note = tags, note
        first = " ".join(note.split())
        self.words.setText("  ".join((*(f"#{tag}" for tag in tags), first)).strip())
        self.words.setVisible(bool(tags or note))
        marked = bool(tags or note)
        self.edit.setText(tr("Edit") if marked else tr("Add a note or tags"))
        self.edit.setAccessibleName(tr("Edit note and tags") if marked else tr("Add a note or tags"))

    def ask(self) -> None:
        """The dialog, with what there is."""
        dialog = MarksDialog(self._tags, self._note, self)
        dialog.accepted.connect(lambda: self.changed.emit(dialog.tags(), dialog.note.toPlainText().strip()))
        dialog.open()


class MarksDialog(QDialog):
    """Tags with commas between them, and a note of any length."""

    def __init__(self, tags: tuple[str, ...], note: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Note and tags"))
        self.setMinimumWidth(theme().px(_WIDTH))
        self.line = QLineEdit(", ".join(tags))
        self.line.setPlaceholderText(tr("night run, driver 580"))
        self.line.setAccessibleName(tr("Tags, with commas between them"))
        self.note = QPlainTextEdit(note)
        self.note.setAccessibleName(tr("Note"))
        self.note.setTabChangesFocus(True)
        self.note.setFixedHeight(theme().px(110))
        save = button(tr("Save"), "check", self.accept, primary=True)
        save.setDefault(True)
        self.setLayout(column(
            Label(tr("Tags, with commas between them")), self.line, Label(tr("Note")), self.note,
            Label(tr("A session with a note or a tag is never deleted by its age or for its size."), "note", "text2",
                  wrap=True),
            rule(), row(None, save, button(tr("Cancel"), None, self.reject), gap=8), gap=8, margins=(16, 16, 16, 12)))

    def tags(self) -> list[str]:
        """What was typed, without empty ones."""
        return [tag for part in self.line.text().split(",") if (tag := part.strip().lstrip("#").strip())]
