"""The plots as a table: what a screen reader reads, and what can be copied into a spreadsheet."""

from __future__ import annotations

import math

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from paddock.desktop.parts.basic import calm_view
from paddock.desktop.plots.frame import Frame, Setup
from paddock.desktop.plots.scale import clock_text, time_step, time_ticks
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.units import GIB, count_text, missing, number_text

_MOST_ROWS = 240
Index = QModelIndex | QPersistentModelIndex


def table_columns(setup: Setup) -> list[tuple[str, str, float, int]]:
    """(header, column name, factor, decimals) of everything that the plots draw."""
    first = [(tr("Texts/s"), "requests_per_s", 1.0, 1), (tr("Batch fill, %"), "batch_fill", 100.0, 0)]
    out = [*(first if setup.answers_texts else [(tr("Generation, t/s"), "generation_per_s", 1.0, 1)]),
           (tr("Prompt, t/s"), "prompt_per_s", 1.0, 1), (tr("Context, tokens"), "context_used", 1.0, 0)]
    for name in setup.devices:
        out += [(tr("{device}, GiB", device=name), f"{name}.used_bytes", 1 / GIB, 2),
                (tr("{device} model, GiB", device=name), f"{name}.process_bytes", 1 / GIB, 2),
                (tr("{device}, %", device=name), f"{name}.utilisation_pct", 1.0, 0),
                (tr("{device}, W", device=name), f"{name}.power_w", 1.0, 0),
                (tr("{device}, °C", device=name), f"{name}.temperature_c", 1.0, 0)]
    return [*out, (tr("RAM model, GiB"), "process_rss_bytes", 1 / GIB, 2), (tr("CPU, %"), "cpu_pct", 1.0, 0)]


class FrameTable(QAbstractTableModel):
    """Rows at round moments of a window, newest first; the last column names the events in between."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns: list[tuple[str, str, float, int]] = []
        self._rows: list[list[str]] = []

    def show_frame(self, frame: Frame, setup: Setup, start: float, end: float) -> None:
        """Read the values anew. Columns that were never recorded are left out."""
        self.beginResetModel()
        self._columns = [c for c in table_columns(setup) if frame.has(c[1])]
        step = time_step(end - start, _MOST_ROWS)
        span = frame.series.span()
        last = min(end, span[1] if span else end)
        self._rows = [self._row(frame, t, t + step) for t in reversed(time_ticks(start, last, _MOST_ROWS))]
        self.endResetModel()

    def _row(self, frame: Frame, t: float, until: float) -> list[str]:
        cells = [clock_text(t)]
        for _, name, factor, digits in self._columns:
            value = frame.at(name, t) * factor
            cells.append("–" if missing(value) or math.isinf(value)
                         else count_text(value) if digits == 0 else number_text(value, digits))
        return [*cells, "; ".join(e.text for e in frame.events if t <= e.t < until and e.kind != "request")]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._columns) + 2

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() <= len(self._columns):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            left = section > len(self._columns)
            side = Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if section == 0:
            return tr("Time")
        return tr("Events") if section > len(self._columns) else self._columns[section - 1][0]

    def text(self) -> str:
        """All of it with tabs, for the clipboard."""
        head = [str(self.headerData(i, Qt.Orientation.Horizontal)) for i in range(self.columnCount())]
        return "\n".join("\t".join(row) for row in [head, *self._rows])


class FrameTableView(QTableView):
    """The table with its copy shortcut."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = FrameTable(self)
        self.setModel(self.table)
        calm_view(self)
        self.setAccessibleName(tr("The plots as a table"))
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(theme().px(24))
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        header.setHighlightSections(False)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self, self.copy,
                  context=Qt.ShortcutContext.WidgetShortcut)

    def copy(self) -> None:
        QGuiApplication.clipboard().setText(self.table.text())
