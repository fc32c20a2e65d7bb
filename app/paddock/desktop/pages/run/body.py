"""How the parts of a run lie: beside each other where there is room, else one at a time."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QSplitter, QStackedWidget, QVBoxLayout, QWidget

from paddock.desktop.pages.run.ask import AskPane
from paddock.desktop.pages.run.context_detail import DetailPane
from paddock.desktop.pages.run.figures import FigureRow
from paddock.desktop.pages.run.logpane import LogPane
from paddock.desktop.pages.run.models import ModelsPane
from paddock.desktop.pages.run.plotpane import PlotPane
from paddock.desktop.pages.run.recording import RecordingRow
from paddock.desktop.pages.run.requestpane import RequestPane
from paddock.desktop.parts.basic import column, rule
from paddock.desktop.parts.blocks import Segments
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr


class RunBody(QWidget):
    """`arrange(compact)` moves the four panes between splitters and a stack with a choice above it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figures, self.plots, self.log = FigureRow(), PlotPane(), LogPane()
        self.requests, self.ask, self.models = RequestPane(), AskPane(), ModelsPane()
        self._served = QWidget()
        self._served.setLayout(column(self.models, self.requests, gap=0))
        self.recording = RecordingRow()
        self.requests.put_below_title(self.recording)
        self.detail = DetailPane(self.ask)
        self._compact: bool | None = None
        self.choice = Segments([("plots", tr("Plots")), ("requests", tr("Requests")), ("ask", tr("Detail")),
                                 ("log", tr("Log"))], tr("Part of the run"))
        self.choice.chosen.connect(self._chosen)
        """Placed by the page, in its header; only wanted where the parts lie behind each other."""
        self._stack = QStackedWidget()
        self._left, self._right = QSplitter(Qt.Orientation.Vertical), QSplitter(Qt.Orientation.Vertical)
        self._wide = QSplitter(Qt.Orientation.Horizontal)
        for splitter in (self._left, self._right, self._wide):
            splitter.setChildrenCollapsible(False)
            splitter.setHandleWidth(1)
        self._wide.addWidget(self._left)
        self._wide.addWidget(self._right)
        self._wide.setStretchFactor(0, 1)
        self._wide.setStretchFactor(1, 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (self.figures, rule()):
            layout.addWidget(part)
        layout.addWidget(self._wide, 1)
        layout.addWidget(self._stack, 1)
        self.arrange(False, False)

    @property
    def panes(self) -> dict[str, QWidget]:
        return {"plots": self.plots, "requests": self._served, "ask": self.detail, "log": self.log}

    @property
    def compact(self) -> bool:
        return bool(self._compact)

    def arrange(self, compact: bool, narrow: bool) -> None:
        """`compact`: one pane at a time. `narrow`: the figures lie in two rows."""
        self.figures.arrange(3 if narrow else 6)
        if compact == self._compact:
            return
        self._compact = compact
        self._wide.setVisible(not compact)
        self._stack.setVisible(compact)
        if compact:
            for pane in self.panes.values():
                self._stack.addWidget(pane)
            self._chosen(self.choice.key())
            return
        for splitter, parts, sizes in ((self._left, (self.plots, self.log), (445, 118)),
                                       (self._right, (self._served, self.detail), (226, 337))):
            for pane in parts:
                splitter.addWidget(pane)
                pane.show()
            splitter.setSizes([theme().px(s) for s in sizes])
            splitter.setStretchFactor(0, 3)
            splitter.setStretchFactor(1, 1)
        self._wide.setSizes([theme().px(805), theme().px(411)])

    @Slot(str)
    def _chosen(self, key: str) -> None:
        self._stack.setCurrentWidget(self.panes[key])

    def show_log(self) -> None:
        """Bring the log into sight."""
        if self._compact:
            self.choice.select("log")
            self._chosen("log")
