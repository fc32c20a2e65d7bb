"""How the window looks: theme, language, size of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, Slot
from PySide6.QtWidgets import QComboBox, QWidget

from paddock.desktop.pages.launch.fields import combo
from paddock.desktop.pages.settings.parts import line
from paddock.desktop.parts.basic import column
from paddock.desktop.parts.blocks import Segments
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.text import use_language

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class LookSection(QWidget):
    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        settings = desk.workspace.settings
        modes = (("system", tr("As the system")), ("light", tr("Light")), ("dark", tr("Dark")))
        self.theme = Segments(modes, tr("Theme"))
        self.theme.select(settings.theme)
        self.theme.chosen.connect(self._themed)
        self.language = combo(tr("Language"))
        self.language.setMinimumWidth(theme().px(160))
        for code, name in (("", tr("As the system")), ("en", "English"), ("it", "Italiano")):
            self.language.addItem(name, code)
        self.language.setCurrentIndex(max(0, self.language.findData(settings.language)))
        self.language.activated.connect(self._spoken)
        self.scale = QComboBox()
        self.scale.setAccessibleName(tr("Text size"))
        for percent in (80, 90, 100, 110, 125, 150, 175, 200):
            self.scale.addItem(tr("{percent} %", percent=percent), percent / 100)
        self.scale.setCurrentIndex(max(0, self.scale.findData(settings.font_scale)))
        self.scale.activated.connect(self._scaled)
        self.setLayout(column(line(tr("Theme"), self.theme), line(tr("Language"), self.language),
                              line(tr("Text size"), self.scale, note=tr("On top of the system’s own.")), gap=4))

    @Slot(str)
    def _themed(self, mode: str) -> None:
        self._desk.workspace.settings.theme = mode
        theme().use(mode, self._desk.workspace.settings.font_scale)
        self._desk.save_settings()

    @Slot(int)
    def _spoken(self, index: int) -> None:
        code = self.language.itemData(index)
        self._desk.workspace.settings.language = code
        use_language(code or QLocale.system().name())
        self._desk.save_settings()
        self._desk.lookChanged.emit()

    @Slot(int)
    def _scaled(self, index: int) -> None:
        scale = float(self.scale.itemData(index))
        self._desk.workspace.settings.font_scale = scale
        theme().use(theme().mode, scale)
        self._desk.save_settings()
        self._desk.lookChanged.emit()
