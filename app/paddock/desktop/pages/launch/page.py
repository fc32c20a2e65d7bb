"""The Launch page."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from paddock.desktop.pages.launch.before import WIDTH, BeforePane
from paddock.desktop.pages.launch.first import FirstSteps
from paddock.desktop.pages.launch.form import BasicForm
from paddock.desktop.pages.launch.profiles import ProfileBar
from paddock.desktop.parts.basic import column, panel, row, rule
from paddock.desktop.parts.blocks import Banner, PageHeader, Segments
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.desktop.whatif import changes

if TYPE_CHECKING:
    from paddock.desktop.profiles import Told
    from paddock.desktop.state import Desk

NARROW = 900
_VIEWS = {"options": ("options.view", "OptionsView"), "placement": ("placement.view", "PlacementView")}
"""Further views of the same plan, made when first shown: a QWidget of this class, given the desk."""


class LaunchPage(QWidget):
    """Basic form | before you launch, and further views; the first steps while there is no plan."""

    icon = "rocket"

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.title = tr("Launch")
        self._desk = desk
        # Smaller than the wide arrangement needs: the narrow one makes it fit.
        self.setMinimumSize(theme().px(420), theme().px(200))
        self._views: dict[str, QWidget] = {}
        self.header = PageHeader(self.title)
        self.profiles = ProfileBar(desk)
        self.tabs = self._make_tabs()
        self.tabs.chosen.connect(self._arrange)
        self.header.left.addWidget(self.tabs)
        self.header.right.addWidget(self.profiles)
        self.form = BasicForm(desk)
        self.before = BeforePane(desk)
        self.first = FirstSteps(desk)
        self._line = rule(vertical=True)
        self._body = QWidget()
        line = row(self.form, self._line, self.before, gap=0)
        line.setStretch(0, 1)
        self._body.setLayout(line)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._body)
        self._stack.addWidget(self.first)
        self.banner = Banner()
        self.told = Banner()
        whole = panel("base", column(self.header, self.told, self.banner, self._stack, gap=0))
        self.setLayout(column(whole, gap=0))
        desk.planChanged.connect(self._arrange)
        desk.profileChanged.connect(self._arrange)
        desk.enginesChanged.connect(self._arrange)
        desk.profiles.told.connect(self._tell)
        desk.previewChanged.connect(self._count)
        for news in (desk.planChanged, desk.runsChanged, desk.runStateChanged):
            news.connect(self._compare)
        self._arrange()
        self._compare()

    @Slot()
    def _compare(self) -> None:
        """While a server runs, say that the plan has moved on from it."""
        desk = self._desk
        run = desk.run if desk.live() else None
        found = changes(run.preview.plan, desk.plan) if run is not None else []
        if not found or run is None:
            self.banner.hide()
            return
        what = tr("This plan differs from the running server in {count} option.",
                  plural="This plan differs from the running server in {count} options.", count=len(found))
        if not self.banner.isVisible() or self.banner.accessibleName() != what:
            self.banner.show_text("accent", what, "", [(tr("Relaunch"), "rotate-ccw", desk.relaunch),
                                                       (tr("Launch beside it"), "play", desk.launch)], closable=False)

    @Slot(object)
    def _tell(self, told: Told) -> None:
        """What was done with a profile, until it is closed, acted on or overtaken."""
        def act() -> None:
            self.told.hide()
            if told.do is not None:
                told.do()
        self.told.show_text(told.tone, told.what, told.why, [(told.act, None, act)] if told.do is not None else [])

    def _make_tabs(self) -> Segments:
        names = {"options": tr("All options"), "placement": tr("Placement")}
        there = [(key, names[key]) for key, (module, _) in _VIEWS.items() if _exists(module)]
        self._further = bool(there)
        return Segments((("basic", tr("Basic")), *there, ("before", tr("Checks"))), tr("What to show"))

    def save(self) -> None:
        """Ctrl+S."""
        if self.profiles.store.isEnabled():
            self.profiles.save()

    def show_item(self, what: object) -> None:
        """`what`: the name of a view, "basic", "options" or "placement"."""
        if isinstance(what, str):
            self.tabs.select(what)
            self._arrange()

    @Slot()
    def _count(self) -> None:
        count = self.before.issue_count()
        self.tabs.option("before").setText(tr("Checks ({issues})", issues=count) if count else tr("Checks"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        """Show what was chosen, as far as there is room and something to show."""
        narrow = self.width() < theme().px(NARROW)
        nothing = not self._desk.plan.settings
        chosen = self.tabs.key()
        if chosen == "before" and not narrow:
            self.tabs.select("basic")
            chosen = "basic"
        self.tabs.setVisible(not nothing and (narrow or self._further))
        self.tabs.option("before").setVisible(narrow)
        self.profiles.setVisible(not nothing or bool(self._desk.profiles.names))
        self.profiles.set_narrow(narrow)
        self._show_changes(narrow)
        if nothing:
            self._stack.setCurrentWidget(self.first)
        elif chosen in _VIEWS:
            self._stack.setCurrentWidget(self._view(chosen))
        else:
            self._stack.setCurrentWidget(self._body)
            self._arrange_body(narrow, chosen == "before")

    def _arrange_body(self, narrow: bool, before: bool) -> None:
        self.form.setVisible(not (narrow and before))
        self.before.setVisible(not narrow or before)
        self._line.setVisible(not narrow)
        if narrow:
            self.before.setMaximumWidth(16777215)
            self.before.setMinimumWidth(0)
        else:
            self.before.setFixedWidth(theme().px(WIDTH))

    def _show_changes(self, narrow: bool) -> None:
        if "options" in self.tabs:
            count = 0 if narrow else len(self._desk.changes())
            self.tabs.option("options").setText(
                tr("All options ({changed} changed)", changed=count) if count else tr("All options"))

    def _view(self, name: str) -> QWidget:
        if name not in self._views:
            module, class_name = _VIEWS[name]
            made = getattr(importlib.import_module(f"paddock.desktop.pages.launch.{module}"), class_name)(self._desk)
            self._views[name] = cast(QWidget, made)
            self._stack.addWidget(self._views[name])
        return self._views[name]


def _exists(module: str) -> bool:
    """Whether this version has the view; one that is not there has no tab."""
    try:
        return importlib.util.find_spec(f"paddock.desktop.pages.launch.{module}") is not None
    except ModuleNotFoundError:
        return False
