"""Dense tables of this view: patterns, the tensors of one, and the map's twin in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from paddock.desktop.icons import icon
from paddock.desktop.parts.tables import row_table
from paddock.desktop.theme import theme

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class CellText:
    """One cell: its text, an icon with the role of its colour, another role for the text."""

    text: str
    icon: tuple[str, str] | None = None
    role: str = "text"


class Rows(QAbstractTableModel):
    """Texts in rows. `right`: columns of figures; `mono`: columns of names in llama.cpp's own spelling."""

    def __init__(self, headers: Sequence[str], right: frozenset[int], mono: frozenset[int], parent: QWidget) -> None:
        super().__init__(parent)
        self._headers, self._right, self._mono = list(headers), right, mono
        self._rows: list[tuple[CellText, ...]] = []

    def set_rows(self, rows: list[tuple[CellText, ...]]) -> None:
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def rows(self) -> list[tuple[CellText, ...]]:
        return self._rows

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._headers)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        cell = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return cell.text
        if role == Qt.ItemDataRole.ToolTipRole:
            return cell.text if len(cell.text) > 16 else None
        if role == Qt.ItemDataRole.DecorationRole:
            return icon(*cell.icon) if cell.icon else None
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color(cell.role)
        if role == Qt.ItemDataRole.FontRole:
            return theme().font("mono" if index.column() in self._mono else "note")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(index.column())
        return None

    def _side(self, column: int) -> int:
        side = Qt.AlignmentFlag.AlignRight if column in self._right else Qt.AlignmentFlag.AlignLeft
        return int(side | Qt.AlignmentFlag.AlignVCenter)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._headers[section]
        return self._side(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def text(self) -> str:
        """All of it with tabs, for the clipboard."""
        return "\n".join("\t".join(row) for row in [self._headers, *([c.text for c in r] for r in self._rows)])


class DenseTable(QTableView):
    """Rows of 24, no grid, whole rows chosen; Ctrl+C copies everything. `samples`: the widest text of each column, None
    takes what is left."""

    def __init__(self, name: str, headers: Sequence[str], samples: Sequence[str | None], *,
                 right: frozenset[int] = frozenset(), mono: frozenset[int] = frozenset(), striped: bool = True) -> None:
        super().__init__()
        self.rows = Rows(headers, right, mono, self)
        self._samples = samples
        self.setModel(self.rows)
        row_table(self)
        self.setAccessibleName(name)
        self.setAlternatingRowColors(striped)
        self.setStyleSheet("QTableView::item{padding:0 5px}")
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setFont(theme().font("note"))
        self.setIconSize(QSize(theme().px(14), theme().px(14)))
        self.verticalHeader().setMinimumSectionSize(theme().px(20))
        header = self.horizontalHeader()
        header.setMinimumSectionSize(24)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._measure()
        theme().changed.connect(self._measure)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self, self.copy,
                  context=Qt.ShortcutContext.WidgetShortcut)

    def _measure(self) -> None:
        metrics = self.fontMetrics()
        header = self.horizontalHeader()
        for column, sample in enumerate(self._samples):
            if sample is None:
                header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
                continue
            title = str(self.rows.headerData(column, Qt.Orientation.Horizontal))
            width = max(metrics.horizontalAdvance(sample) + theme().px(22),
                        metrics.horizontalAdvance(title) + theme().px(32))
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            self.setColumnWidth(column, width)

    def copy(self) -> None:
        QGuiApplication.clipboard().setText(self.rows.text())
