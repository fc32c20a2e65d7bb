"""Settings for a use case, each with its reason and a box to leave it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QCheckBox, QGridLayout, QWidget

from paddock.desktop.pages.launch.changed import setting_words
from paddock.desktop.pages.launch.profile_dialog import ProfileDialog, TallList, scrolled
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.use_cases import USE_CASES, Suggestion, UseCase, Wish, suggest

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class UseCaseDialog(ProfileDialog):
    """The ten on the left; on the right what the chosen one sets here, what is so already, and what is left out."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(tr("Settings for a use case"), parent, (820, 480), tr("Cancel"))
        self._desk = desk
        self.suggestion: Suggestion | None = None
        self.boxes: dict[str, QCheckBox] = {}
        self.list = TallList(tr("Use cases"))
        for case in USE_CASES:
            self.list.add(str(case.title))
        self.purpose = Label("", weight=600, wrap=True)
        self.notes = Label("", "note", "warn", wrap=True)
        self.grid = QGridLayout()
        self.grid.setHorizontalSpacing(theme().px(12))
        self.grid.setVerticalSpacing(theme().px(6))
        right = QWidget()
        right.setLayout(column(self.purpose, self.notes, scrolled(self.grid, tr("Settings")), gap=8,
                               margins=(12, 0, 0, 0)))
        self.show_beside(self.list, right, (224, 560))
        self.take = button(tr("Use these settings"), "check", self._take, primary=True)
        self.add_act(self.take)
        self.list.currentRowChanged.connect(self._chosen)
        self.list.setCurrentRow(0)
        self.list.setFocus()

    @Slot(int)
    def _chosen(self, index: int) -> None:
        if index >= 0:
            self._show(USE_CASES[index])

    def _show(self, case: UseCase) -> None:
        desk = self._desk
        preview = desk.preview
        model = preview.model if preview is not None and preview.plan.get("model") == desk.plan.get("model") else None
        found = self.suggestion = suggest(case, desk.plan, model, desk.engine(), desk.machine)
        self.purpose.setText(str(case.purpose))
        self.notes.setText(" ".join(str(note) for note in found.notes))
        self.notes.setVisible(bool(found.notes))
        empty_layout(self.grid)
        self.boxes = {}
        line = 0
        for wish in found.made:
            self._add_choice(line, wish, found)
            line += 1
        for wish in found.same:
            self._add_told(line, wish, "equal", tr("Is so already. {reason}", reason=wish.reason),
                           setting_words(found.base.find(wish.option)))
            line += 1
        for left in found.skipped:
            self._add_told(line, left.wish, "lock", str(left.reason), tr("left out"))
            line += 1
        if not line:
            self.grid.addWidget(Label(tr("Nothing to set."), "note", "text2"), 0, 0)
        self.grid.setColumnStretch(3, 1)
        self._count()

    def _add_choice(self, line: int, wish: Wish, found: Suggestion) -> None:
        box = QCheckBox()
        box.setChecked(True)
        value = setting_words(wish.apply(found.base).find(wish.option))
        flag = CATALOGUE[wish.option].long_name
        box.setAccessibleName(tr("{flag}: {value}. {reason}", flag=flag, value=value, reason=wish.reason))
        box.toggled.connect(self._count)
        self.boxes[wish.option] = box
        before = found.base.find(wish.option)
        shown = value if before is None else tr("{after} (was {before})", after=value, before=setting_words(before))
        self._add_row(line, box, Label(flag, "mono", "accent"), Label(shown, "mono"),
                      Label(str(wish.reason), "note", "text2", wrap=True))

    def _add_told(self, line: int, wish: Wish, sign: str, reason: str, value: str) -> None:
        self._add_row(line, IconLabel(sign, 14, "text3"), Label(CATALOGUE[wish.option].long_name, "mono", "text3"),
                      Label(value, "mono", "text3"), Label(reason, "note", "text3", wrap=True))

    def _add_row(self, line: int, *widgets: QWidget) -> None:
        for place, widget in enumerate(widgets):
            self.grid.addWidget(widget, line, place)

    @Slot()
    def _count(self) -> None:
        self.take.setEnabled(any(box.isChecked() for box in self.boxes.values()))

    def _take(self) -> None:
        if self.suggestion is not None:
            chosen = [option for option, box in self.boxes.items() if box.isChecked()]
            self._desk.edit(self.suggestion.plan(chosen))
        self.accept()
