"""What lies behind each other at the lower right of a run: a prompt to try, slots, devices, speed."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QStackedWidget, QWidget

from paddock.desktop.pages.run.ask import AskPane
from paddock.desktop.pages.run.context_depth import SpeedPane
from paddock.desktop.pages.run.context_slots import SlotsPane
from paddock.desktop.pages.run.devices_pane import DevicesPane
from paddock.desktop.parts.basic import column, row
from paddock.desktop.parts.blocks import Segments
from paddock.desktop.tr import tr


class DetailPane(QFrame):
    """`show_run` twice a second; only what is in sight is brought up to date."""

    def __init__(self, ask: AskPane, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.ask, self.slots, self.devices, self.speed = ask, SlotsPane(), DevicesPane(), SpeedPane()
        self.choice = Segments([("ask", tr("Prompt")), ("slots", tr("Slots")), ("devices", tr("Devices")),
                                ("speed", tr("Speed"))], tr("Detail"))
        self.choice.chosen.connect(self._chosen)
        self._stack = QStackedWidget()
        for pane in (self.ask, self.slots, self.devices, self.speed):
            self._stack.addWidget(pane)
        self.setLayout(column(row(self.choice, margins=(12, 8, 12, 4)), self._stack, gap=0))
        self._run: Any = None

    @Slot(str)
    def _chosen(self, key: str) -> None:
        self._stack.setCurrentWidget(getattr(self, key))
        if self._run is not None:
            self.refresh(self._run, self._run.recorder.snapshot())

    def select(self, key: str) -> None:
        """Bring a part forward."""
        self.choice.select(key)
        self._chosen(key)

    def refresh(self, run: Any, snapshot: Any) -> None:
        """The newest state of this run."""
        if run is not self._run:
            self._run = run
            self.devices.start(run)
        pane = self._stack.currentWidget()
        if not self.isVisible():
            return
        if pane is self.slots:
            self.slots.show_snapshot(snapshot)
        elif pane is self.devices:
            self.devices.show_run(run, snapshot)
        elif pane is self.speed:
            self.speed.show_run(run, snapshot)
