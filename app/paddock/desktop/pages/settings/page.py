"""The page: its sections one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from paddock.desktop.pages.settings.data import DataSection
from paddock.desktop.pages.settings.devices import DevicesSection
from paddock.desktop.pages.settings.engines import EnginesSection
from paddock.desktop.pages.settings.folders import FoldersSection
from paddock.desktop.pages.settings.launching import LaunchingSection
from paddock.desktop.pages.settings.look import LookSection
from paddock.desktop.pages.settings.rpc import RpcSection
from paddock.desktop.parts.basic import Label, column, panel, rule
from paddock.desktop.parts.blocks import PageHeader
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_WIDTH = 760


class SettingsPage(QWidget):
    """Every change holds at once and is written at once."""

    icon = "sliders-horizontal"

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.title = tr("Settings")
        self.look, self.engines, self.devices = LookSection(desk), EnginesSection(desk), DevicesSection(desk)
        self.rpc, self.folders = RpcSection(desk), FoldersSection(desk)
        self.launching, self.data = LaunchingSection(desk), DataSection(desk)
        self._desk = desk
        inner = panel("base")
        box = QVBoxLayout(inner)
        box.setContentsMargins(24, 8, 24, 24)
        box.setSpacing(4)
        for title, section in ((tr("Look"), self.look), (tr("Engines"), self.engines), (tr("Devices"), self.devices),
                               (tr("RPC hosts"), self.rpc), (tr("Model folders"), self.folders),
                               (tr("Launching"), self.launching), (tr("Sessions and data"), self.data)):
            heading = Label(title, "title", weight=600)
            heading.setContentsMargins(0, 12, 0, 4)
            box.addWidget(heading)
            box.addWidget(section)
            box.addSpacing(8)
            box.addWidget(rule())
        box.addStretch(1)
        inner.setMaximumWidth(theme().px(_WIDTH))
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(inner)
        whole = panel("base", column(PageHeader(self.title), self._scroll, gap=0))
        self.setLayout(column(whole, gap=0))
        desk.settingsChanged.connect(self._settings_changed)

    @Slot()
    def _settings_changed(self) -> None:
        self.look.theme.select(self._desk.workspace.settings.theme)
        self.engines.refresh()
        self.folders.refresh()
        self.rpc.refresh()
        self.launching.refresh()
