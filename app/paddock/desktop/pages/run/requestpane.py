"""Requests of a session: as a table, or as a waterfall over the plots' window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from paddock.desktop.pages.run.requests import RequestsModel, RequestsView
from paddock.desktop.pages.run.waterfall import Waterfall
from paddock.desktop.parts.basic import Label, row
from paddock.desktop.parts.blocks import EmptyState, Segments
from paddock.desktop.tr import tr
from paddock.session.model import Request


class RequestPane(QWidget):
    """Fed with all requests (`show_requests`) and with the window in sight (`show_window`)."""

    def __init__(self, waiting: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = RequestsModel(self)
        self.view = RequestsView(self.model)
        self.waterfall = Waterfall()
        self._count = Label("", "note", "text2", elide="end")
        self.ways = Segments([("table", tr("Table")), ("waterfall", tr("Waterfall"))], tr("Requests as"))
        self.ways.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.ways.chosen.connect(self._chosen)
        self.empty = EmptyState("send", tr("No request yet"),
                                waiting or tr("Try a prompt below, or point a program at the server’s address."))
        self.pages = QStackedWidget()
        for page in (self.empty, self.view, self.waterfall):
            self.pages.addWidget(page)
        title = row(Label(tr("Requests"), weight=600), self._count, self.ways, gap=8, margins=(12, 4, 12, 4))
        title.setStretch(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(title)
        self._below_title = layout
        layout.addWidget(self.pages, 1)

    def put_below_title(self, widget: QWidget) -> None:
        """A line of its own between the title and the requests."""
        self._below_title.insertWidget(1, widget)

    def show_requests(self, requests: Sequence[Request], left_s: Mapping[int, float] | None = None) -> None:
        """All of them; `left_s` as in the model."""
        self.model.show_requests(requests, left_s)
        self._show_page()

    def say_count(self, count: int, active: int) -> None:
        words = str(count) if not active else tr("{count}, {active} active", count=count, active=active)
        self._count.setText(words)

    def show_window(self, requests: Sequence[Request], start: float, end: float, now: float) -> None:
        """Only costs something while the waterfall is in sight."""
        if self.pages.currentWidget() is self.waterfall:
            self.waterfall.show_requests(requests, start, end, now)

    @Slot(str)
    def _chosen(self, _key: str) -> None:
        self._show_page()

    def _show_page(self) -> None:
        if not self.model.rowCount():
            self.pages.setCurrentWidget(self.empty)
        else:
            self.pages.setCurrentWidget(self.view if self.ways.key() == "table" else self.waterfall)
