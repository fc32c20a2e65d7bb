"""Two profiles side by side: only what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from paddock.desktop.pages.launch.profile_dialog import Differences, ProfileDialog
from paddock.desktop.pages.launch.profile_marks import mark_icon
from paddock.desktop.parts.basic import Label, row
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.comparing import changes

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class CompareDialog(ProfileDialog):
    """The plan on the desk against a saved profile; both with the defaults."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(tr("Compare profiles"), parent, (720, 420))
        self._desk = desk
        self.mine = tr("the plan on the desk")
        if desk.profile is not None:
            self.mine = desk.profile.name if not desk.changes() else tr("{name}, changed", name=desk.profile.name)
        self.other = QComboBox()
        self.other.setAccessibleName(tr("Compare with"))
        self.other.setIconSize(QSize(theme().px(16), theme().px(16)))
        self.other.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.other.setMinimumContentsLength(28)
        for profile in desk.profiles.all:
            if desk.profile is None or profile.name != desk.profile.name or desk.changes():
                self.other.addItem(mark_icon(profile.colour, keep_room=True), profile.name, profile)
        self.other.currentIndexChanged.connect(self._show)
        self.without_model = QCheckBox(tr("Leave the model out"))
        self.without_model.toggled.connect(self._show)
        mine = Label(self.mine, weight=600, elide="middle")
        line = row(mine, Label(tr("against"), role="text2"), self.other, self.without_model, gap=12)
        line.setStretch(0, 1)
        self.body.addLayout(line)
        self.differences = Differences(tr("They ask for the same."))
        self.body.addWidget(self.differences, 1)
        self.other.setFocus()
        self._show()

    @Slot()
    def _show(self) -> None:
        other = self.other.currentData()
        if other is None:
            return
        plan, against = self._desk.plan, self._desk.profiles.finished(other)
        if self.without_model.isChecked():
            plan, against = plan.without("model"), against.without("model")
        self.differences.show_changes(changes(plan, against), self.mine, other.name)
