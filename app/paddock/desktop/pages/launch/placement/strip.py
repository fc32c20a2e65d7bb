"""The strip over the map: who places, -ngl, -sm, -ts, -ncmoe, and what that means for --fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtWidgets import QLineEdit, QWidget

from paddock.desktop.pages.launch.fields import combo, spin
from paddock.desktop.pages.launch.fields_more import BY_HAND, mark_error, placement_mode
from paddock.desktop.pages.launch.placement.edits import shares_problem
from paddock.desktop.parts.basic import IconLabel, Label, column, row
from paddock.desktop.parts.blocks import Segments
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.placement_map import PlacementMap
from paddock.launch.model import Plan

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_AUTO = -1
_PINS = (("gpu-layers", "-ngl"), ("tensor-split", "-ts"), ("override-tensor", "-ot"), ("cpu-moe", "-cmoe"),
         ("n-cpu-moe", "-ncmoe"), ("n-cpu-ffn", "-ncffn"))


def pinned_flags(plan: Plan, devices: int) -> list[str]:
    """The flags of this plan that make llama.cpp's --fit give up."""
    found = []
    for option, flag in _PINS:
        setting = plan.find(option)
        if setting is None or not setting.on or (option == "tensor-split" and devices < 2):
            continue
        if option == "gpu-layers" and setting.value in ("auto", "-1"):
            continue
        found.append(flag)
    return found


class PlacementStrip(QWidget):
    """Every control edits the plan through the desk."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._found = PlacementMap()
        self._narrow: bool | None = None
        self.modes = Segments((("auto", tr("Auto")), ("experts", tr("Experts on CPU")), ("hand", tr("By hand"))),
                              tr("Placement"))
        self.modes.chosen.connect(self._mode)
        self.layers = spin(tr("Layers on the GPU, the output counted (-ngl)"), _AUTO, 999)
        self.layers.setSpecialValueText(tr("auto"))
        self.layers.setKeyboardTracking(False)
        self.layers.valueChanged.connect(self._layers)
        self.mode_box = combo(tr("How the model is divided (-sm)"))
        self.mode_box.addItems(["layer", "row", "tensor", "none"])
        self.mode_box.setFixedWidth(theme().px(88))
        self.mode_box.activated.connect(self._split_mode)
        self.shares = QLineEdit()
        self.shares.setAccessibleName(tr("Share of each device (-ts)"))
        self.shares.setFixedWidth(theme().px(84))
        self.shares.editingFinished.connect(self._shared)
        self.experts = spin(tr("Layers whose experts stay on the CPU (-ncmoe)"), 0, 999)
        self.experts.setKeyboardTracking(False)
        self.experts.valueChanged.connect(self._experts)
        self._named = {flag: self._labelled(flag, widget) for flag, widget in (
            ("-ngl", self.layers), ("-sm", self.mode_box), ("-ts", self.shares), ("-ncmoe", self.experts))}
        self._sign = IconLabel("triangle-alert", 16, "warn")
        self.note = Label("", "note", "text2", wrap=True)
        self.note.setMaximumWidth(theme().px(260))
        self._top = row(self.modes, *self._named.values(), None, gap=16)
        self._below = row(gap=8)
        self._line = row(self._sign, self.note, gap=8)
        self.setLayout(column(self._top, self._below, gap=4, margins=(16, 9, 16, 9)))
        self.set_narrow(False)

    def _labelled(self, flag: str, widget: QWidget) -> QWidget:
        label = Label(flag, "mono", "text2")
        label.setBuddy(widget)
        made = QWidget()
        made.setLayout(row(label, widget, gap=8))
        return made

    def set_narrow(self, narrow: bool) -> None:
        """The note goes under the controls."""
        if narrow == self._narrow:
            return
        self._narrow = narrow
        for box in (self._top, self._below):
            box.removeWidget(self._sign)
            box.removeWidget(self.note)
        box = self._below if narrow else self._top
        box.addWidget(self._sign)
        box.addWidget(self.note, 0 if not narrow else 1)
        self.note.setMaximumWidth(16777215 if narrow else theme().px(260))
        self.note.setMinimumWidth(0 if narrow else theme().px(200))
        self._top.setSpacing(8 if narrow else 16)

    @Slot(str)
    def focus_flag(self, flag: str) -> None:
        """Go to the control of this flag."""
        {"-ncmoe": self.experts, "-cmoe": self.modes.option("experts")}.get(flag, self.layers).setFocus()

    @Slot()
    def sync(self) -> None:
        """Show the plan."""
        plan = self._desk.plan
        with QSignalBlocker(self.layers), QSignalBlocker(self.mode_box), QSignalBlocker(self.experts):
            self.modes.select(placement_mode(plan))
            text = plan.get("gpu-layers", "auto")
            number = plan.integer("gpu-layers")
            everything = self._found.layers + 1 if self._found.rows else 999
            self.layers.setValue(everything if text == "all" else _AUTO if number is None or number < 0 else number)
            self.mode_box.setCurrentText(plan.get("split-mode", "layer") or "layer")
            self.experts.setValue(plan.integer("n-cpu-moe") or 0)
        if not self.shares.hasFocus():
            self.shares.setText(plan.get("tensor-split") or "")
            self.shares.setCursorPosition(0)
            mark_error(self.shares, False)
        self._notes()

    def show_map(self, found: PlacementMap) -> None:
        """What the model and the devices allow."""
        self._found = found
        several = len(found.devices) > 1
        self._named["-ts"].setVisible(several or self._desk.plan.find("tensor-split") is not None)
        self._named["-sm"].setVisible(several or self._desk.plan.find("split-mode") is not None)
        self._named["-ncmoe"].setVisible(found.has_experts or self._desk.plan.find("n-cpu-moe") is not None)
        option = self.modes.option("experts")
        option.setEnabled(found.has_experts or placement_mode(self._desk.plan) == "experts")
        option.setToolTip("" if found.has_experts else tr("This model has no experts."))
        self.layers.setMaximum(max(999, found.layers + 1))
        self.shares.setPlaceholderText(",".join(str(n) for n in found.shares))
        self.sync()

    def _notes(self) -> None:
        wrong = shares_problem(self.shares.text())
        flags = pinned_flags(self._desk.plan, len(self._found.devices))
        fit_on = (self._desk.plan.get("fit", "on") or "on") != "off"
        if wrong is not None:
            sign, words = ("circle-x", "bad"), str(wrong)
        elif self._found.rows and not self._found.devices:
            sign, words = ("info", "text2"), tr("No GPU in use: everything is in RAM, and -ngl changes nothing.")
        elif self._desk.plan.get("split-mode") in ("row", "tensor"):
            sign, words = ("info", "text2"), tr("-sm {mode} cuts layers over the devices: the map shows them whole.",
                                                mode=self._desk.plan.get("split-mode"))
        elif flags and fit_on:
            listed = ", ".join(flags)
            sign, words = ("triangle-alert", "warn"), tr(
                "{flags} turns --fit off: what you set is used as it is.", count=len(flags),
                plural="{flags} turn --fit off: what you set is used as it is.", flags=listed)
        else:
            sign, words = ("info", "text2"), ""
        self._sign.show_icon(*sign)
        self._sign.setVisible(bool(words))
        self.note.setText(words)
        self.note.setVisible(bool(words))

    @Slot(str)
    def _mode(self, mode: str) -> None:
        plan = self._desk.plan.without(*BY_HAND, "cpu-moe", "n-cpu-ffn")
        if mode == "experts":
            plan = plan.with_("cpu-moe")
        elif mode == "hand":
            on = sum(self._found.shares) if self._found.devices else self._found.layers + 1
            plan = plan.with_("gpu-layers", on)
        self._desk.edit(plan)

    @Slot(int)
    def _layers(self, count: int) -> None:
        plan = self._desk.plan
        self._desk.edit(plan.without("gpu-layers") if count == _AUTO else plan.with_("gpu-layers", count))

    @Slot(int)
    def _split_mode(self, _index: int) -> None:
        mode, plan = self.mode_box.currentText(), self._desk.plan
        self._desk.edit(plan.without("split-mode") if mode == "layer" else plan.with_("split-mode", mode))

    @Slot()
    def _shared(self) -> None:
        text, plan = self.shares.text().strip(), self._desk.plan
        wrong = shares_problem(text) is not None
        mark_error(self.shares, wrong)
        if not wrong and text != (plan.get("tensor-split") or ""):
            self._desk.edit(plan.with_("tensor-split", text) if text else plan.without("tensor-split"))
        self._notes()

    @Slot(int)
    def _experts(self, count: int) -> None:
        plan = self._desk.plan
        self._desk.edit(plan.with_("n-cpu-moe", count) if count else plan.without("n-cpu-moe"))
