"""The plots with their controls: how much time, follow, as table."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer, Slot
from PySide6.QtWidgets import QCheckBox, QMenu, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from paddock.desktop.parts.basic import Label, button, row, tool_button
from paddock.desktop.parts.blocks import Segments
from paddock.desktop.parts.picture import ask_picture
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.plots import PlotStack
from paddock.desktop.plots.table import FrameTableView
from paddock.desktop.tr import tr

SPANS: dict[str, float | None] = {"1": 60.0, "2": 120.0, "10": 600.0, "all": None}
_TABLE_MS = 2000


class PlotPane(QWidget):
    """`live`: follows the newest two minutes at first; a stored session is shown whole."""

    def __init__(self, live: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.stack = PlotStack(live=live)
        self.spans = Segments([("1", tr("1 min")), ("2", tr("2 min")), ("10", tr("10 min")), ("all", tr("All"))],
                              tr("Time in sight"))
        self.spans.select("2" if live else "all")
        self.spans.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.follow = QCheckBox(tr("Follow"))
        self.follow.setChecked(True)
        if not live:
            self.follow.hide()  # never shown before it has a parent: that would be a window of its own
        self.follow.setToolTip(tr("Keep the newest in sight. Dragging over the plots zooms, "
                                  "a double click follows again."))
        self._hint = Label(tr("drag to zoom, hover to read all plots"), "note", "text2", elide="end")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.as_table = button(tr("As table"), "table-2", self._toggle_table, small=True)
        self.as_table.setCheckable(True)
        self.save = tool_button("download", tr("Save as a picture"), self._choose_picture, quiet=False)
        self.page: QWidget | None = None
        """The whole page that these plots stand on, to be saved as a picture too."""
        self.table = FrameTableView()
        self.pages = QStackedWidget()
        self.pages.addWidget(scrolling(self.stack, focus=False))
        self.pages.addWidget(self.table)
        controls = row(self.spans, self.follow, self._hint, self.save, self.as_table, gap=12, margins=(12, 4, 12, 4))
        controls.setStretch(2, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(controls)
        layout.addWidget(self.pages, 1)
        self.spans.chosen.connect(self._span_chosen)
        self.follow.toggled.connect(self._follow_toggled)
        self.stack.follow_changed.connect(self._followed)
        self._refresh = QTimer(self)
        self._refresh.setInterval(_TABLE_MS)
        self._refresh.timeout.connect(self.refresh_table)

    @Slot(str)
    def _span_chosen(self, key: str) -> None:
        self.stack.set_span(SPANS[key])

    @Slot(bool)
    def _follow_toggled(self, on: bool) -> None:
        if on != self.stack.following:
            self.stack.set_follow(on)

    @Slot(bool)
    def _followed(self, on: bool) -> None:
        self.follow.setChecked(on)

    def _toggle_table(self) -> None:
        on = self.as_table.isChecked()
        self.pages.setCurrentIndex(1 if on else 0)
        self.as_table.setText(tr("As plots") if on else tr("As table"))
        self.as_table.setAccessibleName(self.as_table.text())
        self._hint.setText(tr("Ctrl+C copies the table") if on else tr("drag to zoom, hover to read all plots"))
        if on:
            self.refresh_table()
            self._refresh.start()
        else:
            self._refresh.stop()

    def _choose_picture(self) -> None:
        if self.page is None:
            self.ask_picture(self.stack, "paddock-plots")
            return
        menu, page = QMenu(self), self.page
        menu.addAction(tr("The plots…"), lambda: self.ask_picture(self.stack, "paddock-plots"))
        menu.addAction(tr("The whole page…"), lambda: self.ask_picture(page, "paddock-run"))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.save.mapToGlobal(QPoint(0, self.save.height())))

    def ask_picture(self, widget: QWidget, name: str) -> None:
        """Ask for a file and write the widget's picture."""
        path = ask_picture(self, widget, name, lambda error: self._hint.setText(str(error.what)))
        if path is not None:
            self._hint.setText(tr("picture written to {path}", path=str(path)))

    @Slot()
    def refresh_table(self) -> None:
        """The same window as the plots show; the place that was scrolled to stays."""
        if not self.table.isVisible() and self.pages.currentIndex() != 1:
            return
        bar = self.table.verticalScrollBar()
        at = bar.value()
        self.table.table.show_frame(self.stack.frame, self.stack.setup, *self.stack.window_s)
        bar.setValue(at)
