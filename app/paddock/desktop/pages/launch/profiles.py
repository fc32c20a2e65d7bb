"""Which profile is open, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtWidgets import QComboBox, QInputDialog, QMenu, QMessageBox, QWidget

from paddock.desktop.parts.basic import Label, button, row, shorten_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class ProfileBar(QWidget):
    """The box of profiles, Revert, Save, and a menu with the rest."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._name = Label(tr("Profile"), role="text2")
        self.box = QComboBox()
        self.box.setAccessibleName(tr("Profile"))
        self.box.setMinimumWidth(theme().px(96))
        self.box.setMaximumWidth(theme().px(208))
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.box.setMinimumContentsLength(18)
        self.box.activated.connect(self._chosen)
        self.revert = button(tr("Revert"), "undo-2", desk.revert)
        self.store = button(tr("Save"), "save", self.save)
        self.more = button("", "ellipsis", self._open_menu, name=tr("More about this profile"))
        self.setLayout(row(self._name, self.box, self.revert, self.store, self.more, gap=12))
        desk.profileChanged.connect(self.refresh)
        desk.planChanged.connect(self.refresh)
        self.refresh()

    def set_narrow(self, narrow: bool) -> None:
        """Without words where there is no room."""
        self._name.setVisible(not narrow)
        self.revert.setVisible(not narrow)
        shorten_button(self.store, tr("Save"), narrow)

    @Slot()
    def refresh(self) -> None:
        desk = self._desk
        current = desk.profile.name if desk.profile is not None else None
        changed = bool(desk.changes())
        with QSignalBlocker(self.box):
            self.box.clear()
            if current is None:
                self.box.addItem(tr("Not saved yet"), None)
            for name in desk.profiles.names:
                shown = tr("{name}, changed", name=name) if changed and name == current else name
                self.box.addItem(shown, name)
            self.box.setCurrentIndex(max(0, self.box.findData(current)))
        self.revert.setEnabled(changed)
        self.store.setEnabled(bool(desk.plan.settings) and (changed or current is None))

    @Slot(int)
    def _chosen(self, index: int) -> None:
        name = self.box.itemData(index)
        desk = self._desk
        if name is None or (desk.profile is not None and desk.profile.name == name):
            return
        if desk.profile is not None and desk.changes() and not self._may_drop():
            self.refresh()
            return
        desk.profiles.open(name)

    def _may_drop(self) -> bool:
        count = len(self._desk.changes())
        asked = QMessageBox(QMessageBox.Icon.Question, "Paddock",
                            tr("{count} change is not saved.", plural="{count} changes are not saved.", count=count),
                            parent=self)
        asked.setInformativeText(tr("Open the other profile without saving? Ctrl+Z brings the changes back."))
        go = asked.addButton(tr("Open it"), QMessageBox.ButtonRole.AcceptRole)
        asked.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        asked.exec()
        return asked.clickedButton() is go

    def save(self) -> None:
        """Into the open profile; under a new name when there is none."""
        if self._desk.profile is None:
            self.save_as()
        else:
            self._desk.profiles.save()

    def save_as(self) -> None:
        name = self._ask_name(tr("Save as a profile"), self._suggestion())
        if name:
            self._desk.profiles.save(name)

    def _suggestion(self) -> str:
        if self._desk.profile is not None:
            return tr("{name} copy", name=self._desk.profile.name)
        model = self._desk.preview.model if self._desk.preview is not None else None
        return (model.facts.name or model.path.stem) if model is not None else ""

    def _ask_name(self, title: str, start: str) -> str:
        name, good = QInputDialog.getText(self, title, tr("Name"), text=start)
        name = name.strip() if good else ""
        own = self._desk.profile.name if self._desk.profile is not None else None
        if name and name != own and name in self._desk.profiles.names:
            asked = QMessageBox.question(self, "Paddock", tr("“{name}” is there already. Replace it?", name=name))
            return name if asked == QMessageBox.StandardButton.Yes else ""
        return name

    def menu(self) -> QMenu:
        """Save as, rename, delete, keep serving."""
        menu = QMenu(self)
        has = self._desk.profile is not None
        for text, function, enabled in (
                (tr("Save as…"), self.save_as, bool(self._desk.plan.settings)),
                (tr("Revert"), self._desk.revert, bool(self._desk.changes())),
                (tr("Rename…"), self._rename, has), (tr("Delete…"), self._delete, has)):
            action = menu.addAction(text, function)
            action.setEnabled(enabled)
        menu.addSeparator()
        keep = menu.addAction(tr("Keep serving when Paddock quits"))
        keep.setCheckable(True)
        keep.setChecked(self._desk.keep_serving)
        keep.toggled.connect(self._desk.profiles.keep_serving)
        return menu

    def _open_menu(self) -> None:
        self.menu().popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _rename(self) -> None:
        profile = self._desk.profile
        name = self._ask_name(tr("Rename the profile"), profile.name) if profile is not None else ""
        if name:
            self._desk.profiles.rename(name)

    def _delete(self) -> None:
        if self._desk.profile is None:
            return
        name = self._desk.profile.name
        words = tr("Delete the profile “{name}”? The plan stays open.", name=name)
        asked = QMessageBox.question(self, "Paddock", words)
        if asked == QMessageBox.StandardButton.Yes:
            self._desk.profiles.delete()
