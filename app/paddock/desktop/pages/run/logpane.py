"""The log with its search, its level filter, and how many lines and warnings there are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QTimer, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from paddock.desktop.icons import icon
from paddock.desktop.pages.run.log import KEPT, LogView
from paddock.desktop.pages.searching import SearchEdit
from paddock.desktop.parts.basic import Label, panel, row, tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.server.model import LogLine
from paddock.units import count_text

_SEARCH_MS = 120


class LogPane(QWidget):
    """Fed in batches by `add`."""

    folded = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view = LogView()
        self._path: Path | None = None
        self._said = (-1, -1, False, 0)
        self._watched = False
        self._fold = tool_button("chevron-down", tr("Fold the log"), self._toggle)
        self._title = Label(tr("Log"), weight=600)
        self._count = Label("", "note", "text2", elide="end")
        self._bottom = tool_button("arrow-down", tr("To the newest line"), self.view.scroll_to_bottom)
        self._file = tool_button("file", tr("Open the whole log file"), self._open_file)
        self._file.setEnabled(False)
        self.search = SearchEdit(tr("Search the log"), tr("Search the log"))
        self.search.setFixedWidth(theme().px(170))
        self.level = QComboBox()
        self.level.setAccessibleName(tr("Least level"))
        for text, least in ((tr("Everything"), 0), (tr("Info and up"), 1), (tr("Warnings and up"), 2),
                            (tr("Errors"), 3)):
            self.level.addItem(text, least)
        self.level.setCurrentIndex(1)
        bar = panel("window", row(self._fold, self._title, self._count, self._bottom, self._file, self.search,
                                  self.level, gap=8, margins=(8, 3, 12, 3)))
        bar.layout().setStretch(2, 1)  # type: ignore[union-attr]
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(bar)
        layout.addWidget(self.view, 1)
        self._bar = bar
        self._typed = QTimer(self)
        self._typed.setSingleShot(True)
        self._typed.setInterval(_SEARCH_MS)
        self._typed.timeout.connect(self._filter)
        self.search.textChanged.connect(self._typed.start)
        self.search.returnPressed.connect(self._filter)
        self.level.currentIndexChanged.connect(self._filter)
        self.view.bottom_changed.connect(self._bottom_changed)
        self._bottom_changed(True)
        self._filter()

    def start(self, path: str | Path | None, watched: bool = False) -> None:
        """A new log; `path` is the file that holds all of it. `watched`: somebody else's server, which tells no log."""
        self._watched = watched
        self.view.nothing = tr("Its log is where it was started.") if watched else ""
        self._path = Path(path) if path else None
        self._file.setEnabled(self._path is not None)
        self.view.clear()
        self.say_count(0)

    def add(self, lines: Sequence[LogLine]) -> None:
        self.view.add(lines)

    @property
    def last(self) -> int:
        """Number of the newest line taken in."""
        return self.view.lines.last

    def say_count(self, total: int) -> None:
        """How many lines there are in all; at most twice a second."""
        if self._watched:
            self._count.setText(tr("A server that Paddock did not start keeps its log to itself."))
            return
        lines = self.view.lines
        said = (total, lines.warnings, lines.filtered, lines.missed)
        if said == self._said:
            return
        self._said = said
        words = tr("{count} line", plural="{count} lines", count=total)
        if total >= 1000:
            words = tr("{lines} lines", lines=count_text(total))
        if lines.missed:
            words += ", " + tr("{lines} only in the file", lines=count_text(lines.missed))
        if lines.warnings:
            words += ", " + tr("{count} warning", plural="{count} warnings", count=lines.warnings)
        if total > KEPT:
            words += ", " + tr("the newest are shown, the file has all")
        self._count.setText(words)

    def show_line(self, text: str) -> None:
        """Bring the line that proves a diagnosis into sight."""
        number = self.view.find_text(text)
        if number is None:
            self.search.clear()
            self.level.setCurrentIndex(0)
            self._filter()
            number = self.view.find_text(text)
        self.view.mark(number)
        self.view.setFocus()

    @Slot()
    def _filter(self) -> None:
        self._typed.stop()
        self.view.filter(int(self.level.currentData()), self.search.text())

    @Slot(bool)
    def _bottom_changed(self, at_bottom: bool) -> None:
        self._bottom.setVisible(not at_bottom)

    def _toggle(self) -> None:
        shown = self.view.isHidden()
        self.view.setVisible(shown)
        self._fold.setIcon(icon("chevron-down" if shown else "chevron-right", "text2"))
        self._fold.setToolTip(tr("Fold the log") if shown else tr("Unfold the log"))
        self._fold.setAccessibleName(self._fold.toolTip())
        self.setMaximumHeight(16777215 if shown else self._bar.sizeHint().height())
        self.folded.emit(not shown)

    def _open_file(self) -> None:
        if self._path is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path)))
