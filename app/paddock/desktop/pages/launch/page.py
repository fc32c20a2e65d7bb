"""The Launch page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from paddock.desktop.pages.launch.before import WIDTH, BeforePane
from paddock.desktop.pages.launch.first import FirstSteps
from paddock.desktop.pages.launch.form import BasicForm
from paddock.desktop.pages.launch.profiles import ProfileBar
from paddock.desktop.parts.basic import column, panel, row, rule
from paddock.desktop.parts.blocks import PageHeader, Segments
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

NARROW = 900


class LaunchPage(QWidget):
    """Form | before you launch; or the first steps while there is no engine or no model."""

    icon = "rocket"

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.title = tr("Launch")
        self._desk = desk
        self.header = PageHeader(self.title)
        self.profiles = ProfileBar(desk)
        self.tabs = Segments((("form", tr("Settings")), ("before", tr("Before you launch"))), tr("What to show"))
        self.tabs.chosen.connect(self._arrange)
        self.header.left.addWidget(self.tabs)
        self.header.right.addWidget(self.profiles)
        self.form = BasicForm(desk)
        self.before = BeforePane(desk)
        self.first = FirstSteps(desk)
        self._line = rule(vertical=True)
        body = QWidget()
        line = row(self.form, self._line, self.before, gap=0)
        line.setStretch(0, 1)
        body.setLayout(line)
        self._stack = QStackedWidget()
        self._stack.addWidget(body)
        self._stack.addWidget(self.first)
        whole = panel("base", column(self.header, self._stack, gap=0))
        self.setLayout(column(whole, gap=0))
        desk.planChanged.connect(self._choose)
        desk.enginesChanged.connect(self._choose)
        desk.previewChanged.connect(self._count)
        self._choose()
        self._arrange()

    def save(self) -> None:
        """Ctrl+S."""
        if self.profiles.store.isEnabled():
            self.profiles.save()

    def show_item(self, what: object) -> None:
        """Nothing to choose among: the desk holds the plan already."""

    @Slot()
    def _choose(self) -> None:
        """The first steps until there is a plan to look at; an engine alone may come later."""
        nothing = not self._desk.plan.settings
        self._stack.setCurrentIndex(int(nothing))
        self.profiles.setVisible(not nothing)
        self._arrange()

    @Slot()
    def _count(self) -> None:
        count = self.before.issue_count()
        text = tr("Before you launch ({issues})", issues=count) if count else tr("Before you launch")
        self.tabs.option("before").setText(text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        narrow = self.width() < theme().px(NARROW)
        in_form = self._stack.currentIndex() == 0
        self.tabs.setVisible(narrow and in_form)
        self.profiles.set_narrow(narrow)
        before = self.tabs.key() == "before"
        self.form.setVisible(not (narrow and before))
        self.before.setVisible(not narrow or before)
        self._line.setVisible(not narrow)
        if narrow:
            self.before.setMaximumWidth(16777215)
            self.before.setMinimumWidth(0)
        else:
            self.before.setFixedWidth(theme().px(WIDTH))
