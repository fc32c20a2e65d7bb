"""Where each value comes from, and where it shall belong: to this profile, to an architecture, or to all models."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QComboBox, QGridLayout, QWidget

from paddock.desktop.pages.launch.changed import change_words, setting_words
from paddock.desktop.pages.launch.profile_dialog import ProfileDialog, scrolled
from paddock.desktop.parts.basic import Label, button, empty_layout, tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.comparing import Change
from paddock.launch.layers import ENGINE, NO_DEFAULTS, PREFIX, Layer, joined, keys, part
from paddock.launch.model import Plan, Setting

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


def key_change(plan: Plan, key: str) -> Change:
    """What a plan sets under a key of the layers, in the form that `change_words` tells."""
    if key == PREFIX:
        return Change(key, None, Setting(key, plan.prefix), "prefix")
    if key == ENGINE:
        return Change(key, None, Setting(key, (plan.engine or "",)), "engine")
    found = plan.all(key)
    if found:
        return Change(key, None, found[-1], "option", (), found)
    return Change(key, None, Setting(key, (plan.variable(key) or "",)), "variable")


def key_words(plan: Plan, key: str) -> tuple[str, str, str]:
    """(as it is written, name, value)."""
    change = key_change(plan, key)
    flag, name = change_words(change)
    return flag, name, "  ·  ".join(setting_words(s) for s in change.all_after or (change.after,))


class DefaultsDialog(ProfileDialog):
    """A row for each value of the plan with the place it belongs to; below, defaults that this plan does not take."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(tr("Where values come from"), parent, (760, 460), tr("Cancel"))
        self._desk = desk
        self.choices: dict[str, QComboBox] = {}
        self._was: dict[str, str] = {}
        note = tr("Defaults hold for every profile that does not set the option itself. What you move there is used by "
                  "the others, too, from their next launch on.")
        self.body.addWidget(Label(note, "note", "text2", wrap=True))
        self.grid = QGridLayout()
        self.grid.setHorizontalSpacing(theme().px(16))
        self.grid.setVerticalSpacing(theme().px(4))
        self.body.addWidget(scrolled(self.grid, tr("Values")), 1)
        self.store = button(tr("Save"), "save", self._save, primary=True)
        self.add_act(self.store)
        desk.profileChanged.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """The plan and its defaults as they are now."""
        desk = self._desk
        empty_layout(self.grid)
        self.choices, self._was = {}, {}
        for place, text in enumerate((tr("Setting"), "", tr("Value"), tr("Belongs to"))):
            self.grid.addWidget(Label(text, "note", "text2", weight=600), 0, place)
        line, found = 1, desk.profiles.origins()
        for key in keys(desk.plan):
            if key in NO_DEFAULTS:
                continue
            self._add(line, key, found.get(key))
            line += 1
        self._add_left_out(line)
        self.grid.setColumnStretch(2, 1)
        self._count()

    def _add(self, line: int, key: str, origin: Layer | None) -> None:
        flag, name, value = key_words(self._desk.plan, key)
        choice = QComboBox()
        choice.setAccessibleName(tr("{flag} belongs to", flag=flag))
        architecture = self._desk.profiles.architecture
        choice.addItem(tr("this profile"), "own")
        if architecture is not None:
            choice.addItem(tr("all {architecture} models", architecture=architecture), "architecture")
        choice.addItem(tr("all models"), "all")
        option = CATALOGUE.get(key)
        if option is not None and option.secret:
            choice.setEnabled(False)  # a key never goes further than it was given
        was = "own" if origin is None else "all" if origin.architecture is None else "architecture"
        choice.setCurrentIndex(max(0, choice.findData(was)))
        choice.activated.connect(self._count)
        self.choices[key], self._was[key] = choice, was
        for place, widget in enumerate((Label(flag, "mono", "accent"), Label(name, "note"),
                                        Label(value, "mono", elide="middle"), choice)):
            self.grid.addWidget(widget, line, place)

    def _add_left_out(self, line: int) -> None:
        """Defaults of which this plan takes nothing, or another value; each can be taken out of the defaults."""
        desk, found = self._desk, self._desk.profiles.origins()
        rest = [(layer, key) for layer in desk.profiles.layers for key in keys(layer.plan)
                if found.get(key) is not layer]
        if not rest:
            return
        self.grid.addWidget(Label(tr("Defaults that this plan does not take"), "note", weight=600), line, 0, 1, 4)
        for index, (layer, key) in enumerate(rest, line + 1):
            flag, name, value = key_words(layer.plan, key)
            told = Label(str(layer.title), "note", "text2")
            take = tool_button("plus", tr("Take {flag} from the {layer}", flag=flag, layer=layer.title),
                               partial(self._take, key, layer))
            forget = tool_button("trash-2", tr("Take {flag} out of the {layer}", flag=flag, layer=layer.title),
                                 partial(desk.profiles.forget_default, key, layer.architecture))
            for place, widget in enumerate((Label(flag, "mono", "text2"), Label(name, "note", "text2"),
                                            Label(value, "mono", "text2", elide="middle"), told, take, forget)):
                self.grid.addWidget(widget, index, place)

    def _take(self, key: str, layer: Layer) -> None:
        """The layer's value into the plan, in place of what it sets itself."""
        plan = self._desk.plan
        rest = part(plan, [other for other in keys(plan) if other != key])
        self._desk.edit(joined(rest, part(layer.plan, [key])))
        self.refresh()

    def moved(self) -> dict[str, str]:
        """What was chosen otherwise than it is."""
        return {key: choice.currentData() for key, choice in self.choices.items()
                if choice.currentData() != self._was[key]}

    @Slot()
    def _count(self) -> None:
        self.store.setEnabled(bool(self.moved()))

    def _save(self) -> None:
        moved = self.moved()
        self._desk.profileChanged.disconnect(self.refresh)
        self._desk.profiles.move(moved)
        self.accept()
