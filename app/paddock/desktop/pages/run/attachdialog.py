"""Asks where a server runs that somebody else started, and begins watching it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QCheckBox, QDialog, QFormLayout, QLineEdit, QWidget

from paddock.desktop import bridge
from paddock.desktop.attaching import Where, attach
from paddock.desktop.parts.basic import Label, button, column, row, rule
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_WIDTH = 520


class AttachDialog(QDialog):
    """Stays open while it asks, and says in place what went wrong; closing it ends the asking."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self.job: bridge.Job | None = None
        self.setWindowTitle(tr("Attach to a server"))
        self.setMinimumWidth(theme().px(_WIDTH))
        self.url, self.key = QLineEdit(), QLineEdit()
        self.url.setPlaceholderText("http://127.0.0.1:8080")
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setPlaceholderText(tr("none; or env:NAME, file:PATH"))
        self.insecure = QCheckBox(tr("Take any certificate (https)"))
        self.record = QCheckBox(tr("Keep it as a session"))
        self.record.setChecked(True)
        self.error = Label("", role="bad", wrap=True)
        self.error.hide()
        self.go = button(tr("Attach"), "cable", self._go, primary=True)
        self.go.setDefault(True)
        self.close_button = button(tr("Cancel"), None, self.reject)
        self.setLayout(column(self._intro(), self._form(), self.insecure, self.record, self.error, self._far(), rule(),
                              row(None, self.go, self.close_button, gap=8), gap=12, margins=(16, 16, 16, 12)))
        self.url.textChanged.connect(self._edited)
        self._edited()

    @staticmethod
    def _intro() -> Label:
        return Label(tr("Speed, slots and requests of a llama.cpp server that runs already. It is only looked at: "
                        "never stopped, never asked to generate."), wrap=True)

    @staticmethod
    def _far() -> Label:
        return Label(tr("A server on another machine that listens to itself alone: open a tunnel first, "
                        "ssh -N -L 8080:127.0.0.1:8080 MACHINE, and attach to http://127.0.0.1:8080."),
                     "note", "text2", wrap=True)

    def _form(self) -> QFormLayout:
        form = QFormLayout()
        form.setHorizontalSpacing(theme().px(12))
        for words, field in ((tr("Address"), self.url), (tr("API key"), self.key)):
            field.setAccessibleName(words)
            form.addRow(words, field)
        return form

    @Slot()
    def _edited(self) -> None:
        self.go.setEnabled(bool(self.url.text().strip()) and self.job is None)

    def _go(self) -> None:
        where = Where(self.url.text(), self.key.text().strip(), self.record.isChecked(), self.insecure.isChecked())
        self.error.hide()
        self.job = attach(self._desk, where, self._failed, self.accept)
        self.go.setText(tr("Asking…"))
        self._edited()

    def _failed(self, error: AppError) -> None:
        self.job = None
        self.go.setText(tr("Attach"))
        self._edited()
        said = (str(part).strip() for part in (error.what, error.why, error.hint) if part)
        self.error.setText(" ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in said))
        self.error.show()
        self.url.setFocus()

    def done(self, result: int) -> None:
        """Closed, by whatever way."""
        if self.job is not None and result != QDialog.DialogCode.Accepted:
            self.job.cancel()
        super().done(result)
