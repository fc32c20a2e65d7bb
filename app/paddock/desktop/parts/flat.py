"""What every plain table of rows says of itself: how many rows and columns, titles, which side a column leans to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

Index = QModelIndex | QPersistentModelIndex


class FlatTable(QAbstractTableModel):
    """`_rows` is set by the class that inherits; `right` are the columns of figures."""

    def __init__(self, headers: Sequence[str], right: frozenset[int] = frozenset(),
                 parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._headers, self._right = list(headers), right
        self._rows: list[Any] = []

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._headers)

    def alignment(self, column: int) -> int:
        """Alignment of a column, for cells and title."""
        side = Qt.AlignmentFlag.AlignRight if column in self._right else Qt.AlignmentFlag.AlignLeft
        return int(side | Qt.AlignmentFlag.AlignVCenter)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self._headers):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._headers[section]
        return self.alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None
