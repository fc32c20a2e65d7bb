"""All profiles: found by any word of name, notes, tags or model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from paddock.desktop.pages.launch.profile_dialog import ProfileDialog
from paddock.desktop.pages.launch.profile_history import stamp_words
from paddock.desktop.pages.launch.profile_marks import colour_words, mark_icon
from paddock.desktop.pages.searching import SearchEdit
from paddock.desktop.parts.basic import Label, button, calm_view
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.store import Profile

_TO_THE_MINUTE = 16


class _Search(SearchEdit):
    """Arrows go to the table, so that nobody has to leave the box."""

    def __init__(self, table: QTreeWidget) -> None:
        super().__init__(tr("Search names, notes, tags and models"), tr("Search profiles"))
        self._table = table

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            QApplication.sendEvent(self._table, event)
        else:
            super().keyPressEvent(event)


class ProfileListDialog(ProfileDialog):
    """A table that a word narrows; the arrows move in it while the word is typed, Enter opens."""

    def __init__(self, desk: Desk, wanted: Callable[[str], object], parent: QWidget | None = None) -> None:
        """`wanted(name)`: called with the one that was chosen, after the dialog is closed."""
        super().__init__(tr("All profiles"), parent, (820, 460), tr("Cancel"))
        self._wanted = wanted
        self.table = QTreeWidget()
        self.search = _Search(self.table)
        self.search.textChanged.connect(self._filter)
        self.search.returnPressed.connect(self._open)
        self.table.setAccessibleName(tr("Profiles"))
        self.table.setHeaderLabels([tr("Name"), tr("Model"), tr("Tags"), tr("Notes"), tr("Saved")])
        self.table.setRootIsDecorated(False)
        self.table.setUniformRowHeights(True)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.table.setIconSize(QSize(theme().px(16), theme().px(16)))
        self.table.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.table.header().setStretchLastSection(True)
        for column, width in enumerate((190, 210, 90, 130)):
            self.table.setColumnWidth(column, theme().px(width))
        calm_view(self.table)
        self.table.itemActivated.connect(self._open)
        self.table.currentItemChanged.connect(self._chosen)
        self.nothing = Label(tr("No profile holds these words."), "note", "text2")
        self.body.addWidget(self.search)
        self.body.addWidget(self.table, 1)
        self.body.addWidget(self.nothing)
        self.go = button(tr("Open"), "check", self._open, primary=True)
        self.add_act(self.go)
        for profile in desk.profiles.all:
            self._add(profile)
        self._filter()
        self.search.setFocus()

    def _add(self, profile: Profile) -> None:
        model = (profile.plan.get("model") or profile.plan.get("hf-repo") or "").replace("\\", "/").rsplit("/", 1)[-1]
        texts = [profile.name, model, ", ".join(profile.tags), profile.notes.replace("\n", " "),
                 stamp_words(profile.modified)[:_TO_THE_MINUTE] if profile.modified else ""]
        item = QTreeWidgetItem(texts)
        item.setIcon(0, mark_icon(profile.colour, keep_room=True))
        item.setData(0, Qt.ItemDataRole.AccessibleDescriptionRole, colour_words(profile.colour))
        item.setData(0, Qt.ItemDataRole.UserRole, profile.name)
        for column, text in enumerate(texts):
            item.setSizeHint(column, QSize(0, theme().px(28)))
            item.setToolTip(column, text)
        self.table.addTopLevelItem(item)

    def _items(self) -> list[QTreeWidgetItem]:
        items = [self.table.topLevelItem(i) for i in range(self.table.topLevelItemCount())]
        return [item for item in items if item is not None]

    def shown(self) -> list[str]:
        """The names that the search leaves."""
        return [item.data(0, Qt.ItemDataRole.UserRole) for item in self._items() if not item.isHidden()]

    @Slot()
    def _filter(self) -> None:
        words = self.search.text().casefold().split()
        for item in self._items():
            text = " ".join(item.text(column) for column in range(4)).casefold()
            item.setHidden(not all(word in text for word in words))
        first = next((item for item in self._items() if not item.isHidden()), None)
        current = self.table.currentItem()
        if first is not None and (current is None or current.isHidden()):
            self.table.setCurrentItem(first)
        self.nothing.setVisible(first is None)
        self._chosen()

    @Slot()
    def _chosen(self) -> None:
        current = self.table.currentItem()
        self.go.setEnabled(current is not None and not current.isHidden())

    @Slot()
    def _open(self) -> None:
        current = self.table.currentItem()
        if current is not None and not current.isHidden():
            self.accept()
            self._wanted(current.data(0, Qt.ItemDataRole.UserRole))
