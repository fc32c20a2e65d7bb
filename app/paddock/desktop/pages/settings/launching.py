"""What holds for every launch: estimates, stopping, restarts, what Paddock adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.launch.fields import spin
from paddock.desktop.pages.settings.parts import line, listing
from paddock.desktop.parts.basic import Label, button, empty_layout
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class LaunchingSection(QWidget):
    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(4)
        settings = desk.workspace.settings
        self.keep = QCheckBox(tr("Servers keep serving"))
        self.keep.setChecked(settings.keep_serving)
        self.keep.toggled.connect(self._kept)
        self.restarts = spin(tr("Restarts after a crash"), 0, 20)
        self.restarts.setSpecialValueText(tr("none"))
        self.restarts.setValue(settings.restart_limit)
        self.restarts.valueChanged.connect(self._restarted)
        holder, self._additions = listing()
        self.ask = QCheckBox(tr("Ask first while requests are being answered"))
        self.ask.setChecked(settings.confirm_stop)
        self.ask.toggled.connect(self._asked)
        self.correct = QCheckBox(tr("Correct them by what earlier launches took"))
        self.correct.setChecked(settings.correct_estimates)
        self.correct.toggled.connect(self._corrected)
        self.forget = button(tr("Forget what was learned"), None, self._forget_corrections, small=True)
        learned = tr("Only where a launch took more or less than the stated range, on the same model, engine and "
                     "device; the estimate says so.")
        for made in (line(tr("Estimates"), self.correct, note=learned), line("", self.forget),
                     line(tr("When a server is stopped"), self.ask), line(tr("When Paddock quits"), self.keep),
                     line(tr("Restarts after a crash"), self.restarts),
                     line(tr("Paddock adds"), holder,
                          note=tr("To each command, shown dimmed in the command line, never saved with a profile."))):
            box.addWidget(made)
        desk.previewChanged.connect(self._show_additions)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what the settings say now."""
        with QSignalBlocker(self.keep):
            self.keep.setChecked(self._desk.workspace.settings.keep_serving)
        self._show_additions()

    @Slot()
    def _show_additions(self) -> None:
        preview = self._desk.preview
        command = preview.command if preview is not None else None
        active = {a.id: a for a in command.additions} if command is not None else {}
        ids = list(dict.fromkeys([*active, *self._desk.workspace.settings.additions_off]))
        shown = [(i, i in active) for i in ids]
        if shown == getattr(self, "_shown_additions", None):
            return
        self._shown_additions = shown
        empty_layout(self._additions)
        if not ids:
            self._additions.addWidget(Label(tr("Known once there is an engine and a model."), "note", "text2"))
        for addition_id in ids:
            addition = active.get(addition_id)
            words = " ".join([*addition.argv, *(f"{k}={v}" for k, v in addition.environment)]) if addition else ""
            box = QCheckBox(words or addition_id)
            box.setAccessibleName(tr("Add {what}", what=words or addition_id))
            box.setChecked(addition is not None)
            box.setFont(theme().font("mono"))
            box.toggled.connect(lambda on, chosen=addition_id: self._desk.switch_addition(chosen, on))
            self._additions.addWidget(box)
            if addition is not None and str(addition.reason):
                reason = Label(str(addition.reason), "note", "text2", wrap=True)
                reason.setContentsMargins(24, 0, 0, 4)
                self._additions.addWidget(reason)

    @Slot(bool)
    def _kept(self, on: bool) -> None:
        self._desk.workspace.settings.keep_serving = on
        self._desk.keep_serving = on
        self._desk.save_settings()

    @Slot(bool)
    def _corrected(self, on: bool) -> None:
        self._desk.workspace.settings.correct_estimates = on
        self._desk.save_settings()
        self._desk.refresh_preview()

    @Slot()
    def _forget_corrections(self) -> None:
        """Sessions stay; estimates are as if nothing had been launched yet."""
        self.forget.setEnabled(False)
        bridge.run(self._desk.workspace.forget_corrections, self._forgotten, self._not_forgotten, self,
                   name="forget corrections", in_order=True)

    def _forgotten(self, _count: int) -> None:
        self.forget.setText(tr("Forgotten"))
        self._desk.refresh_preview()

    def _not_forgotten(self, error: AppError) -> None:
        self.forget.setEnabled(True)
        self._desk.failed.emit(error)

    @Slot(bool)
    def _asked(self, on: bool) -> None:
        self._desk.workspace.settings.confirm_stop = on
        self._desk.save_settings()

    @Slot(int)
    def _restarted(self, count: int) -> None:
        self._desk.workspace.settings.restart_limit = count
        self._desk.save_settings()
