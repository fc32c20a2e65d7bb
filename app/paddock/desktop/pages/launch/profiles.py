"""Which profile is open, and what can be done with it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QFileDialog, QInputDialog, QMenu, QMessageBox, QWidget

from paddock.desktop.pages.launch.profile_compare import CompareDialog
from paddock.desktop.pages.launch.profile_defaults import DefaultsDialog
from paddock.desktop.pages.launch.profile_details import DetailsDialog
from paddock.desktop.pages.launch.profile_history import HistoryDialog
from paddock.desktop.pages.launch.profile_list import ProfileListDialog
from paddock.desktop.pages.launch.profile_marks import colour_words, mark_icon
from paddock.desktop.pages.launch.profile_use_cases import UseCaseDialog
from paddock.desktop.parts.basic import Label, button, row, shorten_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.store.naming import file_name

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.store import Profile

_MOST_DELETED = 12


class ProfileBar(QWidget):
    """The box of profiles, Revert, Save, and a menu with the rest."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._shown: object = None
        self._name = Label(tr("Profile"), role="text2")
        self.box = QComboBox()
        self.box.setAccessibleName(tr("Profile"))
        self.box.setIconSize(QSize(theme().px(16), theme().px(16)))
        self.box.setMinimumWidth(theme().px(96))
        self.box.setMaximumWidth(theme().px(208))
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.box.setMinimumContentsLength(18)
        self.box.view().setMinimumWidth(theme().px(320))
        self.box.view().setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.box.activated.connect(self._chosen)
        self.revert = button(tr("Revert"), "undo-2", desk.revert)
        self.store = button(tr("Save"), "save", self.save)
        self.more = button("", "ellipsis", self._open_menu, name=tr("More about this profile"))
        self.setLayout(row(self._name, self.box, self.revert, self.store, self.more, gap=12))
        desk.profileChanged.connect(self.refresh)
        desk.planChanged.connect(self.refresh)
        desk.failed.connect(self.refresh)
        QGuiApplication.instance().applicationStateChanged.connect(self._look_again)  # type: ignore[union-attr]
        self.refresh()

    @Slot(Qt.ApplicationState)
    def _look_again(self, state: Qt.ApplicationState) -> None:
        """Back from another program: another Paddock, or a text editor, may have written profiles."""
        if state is Qt.ApplicationState.ApplicationActive:
            self._desk.profiles.look_again()

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
        self.revert.setEnabled(changed)
        self.store.setEnabled(bool(desk.plan.settings) and (changed or current is None))
        known = desk.profiles.all
        mine = {p.name for p in known if self._of_this_model(p)}
        shown = (current, changed, bool(desk.plan.settings), mine, known)
        if shown != self._shown:
            # Not on every edit: there may be hundreds.
            self._shown = shown
            self._fill(current, changed, mine, known)

    def _fill(self, current: str | None, changed: bool, mine: set[str], known: list[Profile]) -> None:
        desk = self._desk
        with QSignalBlocker(self.box):
            self.box.clear()
            if current is None:
                self.box.addItem(tr("Not saved yet") if desk.plan.settings else tr("Open a profile"), None)
            for profile in (p for p in known if p.name in mine):
                self._add(profile, changed and profile.name == current)
            if len(mine) < len(known) and self.box.count():
                self.box.insertSeparator(self.box.count())
            for profile in (p for p in known if p.name not in mine):
                self._add(profile, changed and profile.name == current)
            self.box.setCurrentIndex(max(0, self.box.findData(current)))
        self.box.setToolTip(_facts(desk.profile) if desk.profile is not None else "")

    def _of_this_model(self, profile: Profile) -> bool:
        """Made for the model on the desk: the same file, or one with the same content."""
        desk = self._desk
        path, model = desk.plan.get("model"), desk.preview.model if desk.preview is not None else None
        same = model is not None and model.identity == profile.model_identity and str(model.path) == path
        return same or (path is not None and profile.plan.get("model") == path)

    def _add(self, profile: Profile, changed: bool) -> None:
        shown = tr("{name}, changed", name=profile.name) if changed else profile.name
        self.box.addItem(mark_icon(profile.colour), shown, profile.name)
        self.box.setItemData(self.box.count() - 1, _facts(profile), Qt.ItemDataRole.ToolTipRole)
        self.box.setItemData(self.box.count() - 1, _facts(profile), Qt.ItemDataRole.AccessibleDescriptionRole)

    @Slot(int)
    def _chosen(self, index: int) -> None:
        self._shown = None  # the box stands on what was chosen, which need not become true
        self.open(self.box.itemData(index))

    def open(self, name: str | None) -> None:
        """This profile instead of what is open; what is not saved is asked about first."""
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

    # -- the menu

    def menu(self) -> QMenu:
        """Everything besides opening and saving."""
        menu = QMenu(self)
        desk = self._desk
        has, plan = desk.profile is not None, bool(desk.plan.settings)
        blocks = (
            ((tr("All profiles…"), self.show_all, bool(desk.profiles.names)),),
            ((tr("Save as…"), self.save_as, plan), (tr("Revert"), desk.revert, bool(desk.changes()))),
            ((tr("Details…"), self.show_details, has), (tr("Rename…"), self._rename, has),
             (tr("Duplicate"), desk.profiles.duplicate, has), (tr("Delete"), desk.profiles.delete, has)),
            ((tr("History…"), self.show_history, has),
             (tr("Compare…"), self.show_comparison, plan and len(desk.profiles.names) > int(has))),
            ((tr("Settings for a use case…"), self.show_use_cases, plan),
             (tr("Where values come from…"), self.show_defaults, plan)),
            ((tr("Import…"), self._import, True), (tr("Export…"), self._export, has)))
        for index, block in enumerate(blocks):
            if index:
                menu.addSeparator()
            for text, function, enabled in block:
                menu.addAction(text, function).setEnabled(enabled)
        self._add_deleted(menu)
        menu.addSeparator()
        keep = menu.addAction(tr("Keep serving when Paddock quits"))
        keep.setCheckable(True)
        keep.setChecked(desk.keep_serving)
        keep.toggled.connect(desk.profiles.keep_serving)
        return menu

    def _add_deleted(self, menu: QMenu) -> None:
        gone = self._desk.profiles.deleted
        if not gone:
            return
        inner = menu.addMenu(tr("Bring back"))
        for name in gone[:_MOST_DELETED]:
            inner.addAction(name.replace("&", "&&"), partial(self._desk.profiles.undelete, name))

    def _open_menu(self) -> None:
        self.menu().popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _rename(self) -> None:
        profile = self._desk.profile
        name = self._ask_name(tr("Rename the profile"), profile.name) if profile is not None else ""
        if name:
            self._desk.profiles.rename(name)

    def show_all(self) -> None:
        """A table of them to search in."""
        ProfileListDialog(self._desk, self.open, self).open()

    def show_details(self) -> None:
        """Notes, tags, mark."""
        if self._desk.profile is not None:
            DetailsDialog(self._desk, self._desk.profile, self).open()

    def show_history(self) -> None:
        """Saved states and the way back."""
        if self._desk.profile is not None:
            HistoryDialog(self._desk, self._desk.profile, self).open()

    def show_comparison(self) -> None:
        """Against another profile."""
        CompareDialog(self._desk, self).open()

    def show_use_cases(self) -> None:
        """Suggested settings with their reasons."""
        UseCaseDialog(self._desk, self).open()

    def show_defaults(self) -> None:
        """Defaults below the profile."""
        DefaultsDialog(self._desk, self).open()

    def _import(self) -> None:
        path, _ = QFileDialog.getOpenFileName(
            self, tr("Import profiles"), "",
            tr("Profiles and launch files (*.toml *.sh *.bat *.cmd *.ps1 *.kcpps *.ini *.yaml *.yml *.service *.txt);;"
               "All files (*)"))
        if path:
            self._desk.profiles.import_file(path)

    def _export(self) -> None:
        if self._desk.profile is None:
            return
        path, _ = QFileDialog.getSaveFileName(self, tr("Export the profile"), file_name(self._desk.profile.name),
                                              tr("Profiles (*.toml)"))
        if path:
            self._desk.profiles.export_file(path)


def _facts(profile: Profile) -> str:
    """Notes, tags and mark, a line each."""
    told = [profile.notes, tr("Tags: {tags}", tags=", ".join(profile.tags)) if profile.tags else "",
            tr("Mark: {colour}", colour=colour_words(profile.colour)) if profile.colour else ""]
    return "\n".join(part for part in (profile.name, *told) if part)
