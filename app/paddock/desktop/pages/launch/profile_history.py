"""The saved states of a profile: what each was, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QDateTime, QLocale, Qt, QTimeZone, Slot
from PySide6.QtWidgets import QWidget

from paddock.desktop.pages.launch.changed import change_words
from paddock.desktop.pages.launch.profile_dialog import Differences, ProfileDialog, TallList
from paddock.desktop.parts.basic import Label, button, column
from paddock.desktop.tr import tr
from paddock.launch.comparing import changes
from paddock.store.revisions import Revision

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.store import Profile


def stamp_words(stamp: str | None) -> str:
    """A UTC stamp as this computer's date and time."""
    moment = QDateTime.fromString((stamp or "").replace("+00:00", "Z"), Qt.DateFormat.ISODate)
    if not moment.isValid():
        return tr("time not known")
    return QLocale().toString(moment.toTimeZone(QTimeZone.systemTimeZone()), "yyyy-MM-dd HH:mm:ss")


class HistoryDialog(ProfileDialog):
    """States on the left, the newest first; on the right, what going back to the chosen one would change."""

    def __init__(self, desk: Desk, profile: Profile, parent: QWidget | None = None) -> None:
        super().__init__(tr("History of “{name}”", name=profile.name), parent, (760, 420))
        self._desk, self._profile = desk, profile
        self._states: list[Revision] = []
        self.list = TallList(tr("Saved states"), lines=2)
        self.list.currentRowChanged.connect(self._chosen)
        self.differences = Differences(tr("The same plan as now."))
        self.words = Label("", "note", "text2", wrap=True)
        right = QWidget()
        right.setLayout(column(self.words, self.differences, gap=8, margins=(12, 0, 0, 0)))
        self.show_beside(self.list, right, (280, 440))
        self.back = button(tr("Go back to this state"), "undo-2", self._go_back, primary=True)
        self.back.setEnabled(False)
        self.add_act(self.back)
        self.list.setFocus()
        desk.profiles.history(self._take, self)

    def _take(self, states: list[Revision]) -> None:
        self._states = states
        self.list.clear()
        for index, state in enumerate(states):
            self.list.add(_state_words(state, states[index + 1:], index == 0))
        self.words.setText(tr("The history of a profile begins with its first save.") if not states else "")
        if states:
            self.list.setCurrentRow(min(1, len(states) - 1))

    @Slot(int)
    def _chosen(self, index: int) -> None:
        state = self._states[index] if 0 <= index < len(self._states) else None
        kept = state.profile if state is not None else None
        self.back.setEnabled(kept is not None and index > 0)
        if state is None:
            return
        if kept is None:
            self.words.setText(tr("The file of this state cannot be read any more."))
            self.differences.show_changes((), "", "")
            return
        self.words.setText(tr("{name}: {notes}", name=kept.name, notes=kept.notes) if kept.notes else kept.name)
        self.differences.show_changes(changes(self._profile.plan, kept.plan), tr("Now"),
                                      tr("State {number}", number=state.number))

    def _go_back(self) -> None:
        index = self.list.currentRow()
        if 0 < index < len(self._states):
            self._desk.profiles.revert(self._states[index].number)
            self.accept()


def _state_words(state: Revision, earlier: Sequence[Revision], current: bool) -> str:
    before = next((s.profile for s in earlier if s.profile is not None), None)
    if state.profile is None:
        what = tr("cannot be read")
    elif before is None:
        what = tr("first saved")
    elif made := changes(before.plan, state.profile.plan):
        what = ", ".join(change_words(change)[0] for change in made)
    else:
        what = tr("details only")
    number = tr("{number} (now)", number=state.number) if current else str(state.number)
    return f"{number}   {stamp_words(state.saved)}\n{what}"
