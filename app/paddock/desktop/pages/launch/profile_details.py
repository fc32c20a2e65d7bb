"""What belongs to a profile besides its plan: name, notes, tags, mark, and how its server is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLineEdit, QPlainTextEdit, QSpinBox, QWidget

from paddock.desktop.pages.launch.profile_dialog import ProfileDialog
from paddock.desktop.pages.launch.profile_marks import colour_words, mark_icon
from paddock.desktop.parts.basic import Label, button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.store.profile_form import COLOURS

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.store import Profile

_Field = TypeVar("_Field", bound=QWidget)


class DetailsDialog(ProfileDialog):
    """Of the open profile; nothing is written before Save."""

    def __init__(self, desk: Desk, profile: Profile, parent: QWidget | None = None) -> None:
        super().__init__(tr("Details of “{name}”", name=profile.name), parent, (480, 380), tr("Cancel"))
        self._desk, self._profile = desk, profile
        self.name = self._named(QLineEdit(profile.name), tr("Name"))
        self.name.textChanged.connect(self._check)
        self.notes = self._named(QPlainTextEdit(profile.notes), tr("Notes"))
        self.notes.setTabChangesFocus(True)
        self.tags = self._named(QLineEdit(", ".join(profile.tags)), tr("Tags"))
        self.tags.setPlaceholderText(tr("work, long, night"))
        self.colour = self._named(QComboBox(), tr("Mark"))
        self.colour.setIconSize(QSize(theme().px(16), theme().px(16)))
        for colour in ("", *COLOURS):
            self.colour.addItem(mark_icon(colour, keep_room=True), colour_words(colour), colour)
        self.colour.setCurrentIndex(max(0, self.colour.findData(profile.colour)))
        self.keep = QCheckBox(tr("Its server keeps serving when Paddock quits"))
        self.keep.setChecked(profile.keep_serving)
        self.restarts = self._named(QSpinBox(), tr("Restarts after a crash"))
        self.restarts.setRange(0, 20)
        self.restarts.setSpecialValueText(tr("none"))
        self.restarts.setValue(profile.restart_limit)
        self.restarts.lineEdit().setTextMargins(6, 0, 0, 0)
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(8)
        for label, field in ((tr("Name"), self.name), (tr("Notes"), self.notes), (tr("Tags"), self.tags),
                             (tr("Mark"), self.colour), (tr("Restarts after a crash"), self.restarts)):
            form.addRow(Label(label), field)
        form.addRow(Label(""), self.keep)
        self.taken = Label("", "note", "bad", wrap=True)
        self.taken.hide()
        form.addRow(Label(""), self.taken)
        self.body.addLayout(form)
        self.store = button(tr("Save"), "save", self._save, primary=True)
        self.store.setDefault(True)
        self.add_act(self.store)
        self.notes.setFocus()

    @staticmethod
    def _named(field: _Field, name: str) -> _Field:
        field.setAccessibleName(name)
        return field

    @Slot()
    def _check(self) -> None:
        name = " ".join(self.name.text().split())
        taken = name != self._profile.name and name in self._desk.profiles.names
        self.taken.setText(tr("There is a profile “{name}” already.", name=name) if taken else "")
        self.taken.setVisible(taken)
        self.store.setEnabled(bool(name) and not taken)

    def _save(self) -> None:
        tags = tuple(dict.fromkeys(tag for part in self.tags.text().split(",") if (tag := " ".join(part.split()))))
        desk, colour = self._desk.profiles, self.colour.currentData()
        if not colour and self._profile.colour not in COLOURS:
            colour = self._profile.colour  # a word of another Paddock's, which this one cannot show
        desk.rename(self.name.text())
        desk.describe(notes=self.notes.toPlainText().strip(), tags=tags, colour=colour,
                      keep_serving=self.keep.isChecked(), restart_limit=self.restarts.value())
        self.accept()
