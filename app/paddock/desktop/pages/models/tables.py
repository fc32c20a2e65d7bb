"""Tensors and metadata of a file as tables, with a filter each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QSortFilterProxyModel, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QHeaderView, QTableView, QVBoxLayout, QWidget

from paddock.desktop.pages.models.rows import SORT_ROLE
from paddock.desktop.pages.searching import SearchEdit
from paddock.desktop.parts.basic import Label, row
from paddock.desktop.parts.flat import FlatTable, Index
from paddock.desktop.parts.tables import row_table
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.gguf import LazyArray
from paddock.gguf.model import Tensor
from paddock.units import bytes_text, count_text


class PlainTable(FlatTable):
    """Rows of texts with what they are sorted by."""

    _rows: list[tuple[tuple[str, Any], ...]]

    def set_rows(self, rows: list[tuple[tuple[str, Any], ...]]) -> None:
        """Each cell: (text, value to sort by)."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        text, value = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return text
        if role == SORT_ROLE:
            return value
        if role == Qt.ItemDataRole.ToolTipRole:
            return text if len(text) > 24 else None
        return self.alignment(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None


class _Proxy(QSortFilterProxyModel):
    def lessThan(self, left: Index, right: Index) -> bool:
        a, b = left.data(SORT_ROLE), right.data(SORT_ROLE)
        return bool(a < b) if type(a) is type(b) else str(a) < str(b)


class FilteredTable(QWidget):
    """A filter over a dense table; Ctrl+C copies the chosen rows. Short ones do without the filter."""

    def __init__(self, name: str, headers: Sequence[str], right: frozenset[int] = frozenset(),
                 stretch: int = 0, filterable: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = PlainTable(headers, right, self)
        self._proxy = _Proxy(self)
        self._proxy.setSourceModel(self.table)
        self._proxy.setSortRole(SORT_ROLE)
        self._proxy.setFilterKeyColumn(-1)
        self._proxy.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.filter = SearchEdit(tr("Filter"), tr("Filter {what}", what=name))
        self._count = Label("", "note", "text2")
        self.view = QTableView()
        self.view.setModel(self._proxy)
        row_table(self.view, many=True)
        self.view.setAccessibleName(name)
        self.view.setStyleSheet("QTableView::item{padding:0 5px}")
        self.view.setAlternatingRowColors(True)
        self.view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.view.setFont(theme().font("note"))
        header = self.view.horizontalHeader()
        header.setMinimumSectionSize(32)
        self._stretch = stretch
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(stretch, QHeaderView.ResizeMode.Stretch)
        self.view.setSortingEnabled(True)
        self.view.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        top = row(self.filter, self._count, gap=8, margins=(16, 8, 16, 8))
        top.setStretch(0, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        if filterable:
            layout.addLayout(top)
        layout.addWidget(self.view, 1)
        self.filter.textChanged.connect(self._filter)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.view, self.copy,
                  context=Qt.ShortcutContext.WidgetShortcut)

    def set_rows(self, rows: list[tuple[tuple[str, Any], ...]], widths: Sequence[int]) -> None:
        """`widths` in pixels of the look, by column; the stretched one takes the rest."""
        self.filter.clear()
        self.table.set_rows(rows)
        self._proxy.sort(-1)
        self.view.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header = self.view.horizontalHeader()
        for column, width in enumerate(widths):
            if column != self._stretch:  # a title is longer in other languages
                self.view.setColumnWidth(column, max(theme().px(width), header.sectionSizeHint(column)))
        self._say()

    @property
    def shown(self) -> int:
        """Rows that pass the filter."""
        return self._proxy.rowCount()

    def _filter(self, text: str) -> None:
        self._proxy.setFilterFixedString(text.strip())
        self._say()

    def _say(self) -> None:
        total = self.table.rowCount()
        self._count.setText(str(total) if self.shown == total else tr("{shown} of {total}", shown=self.shown,
                                                                      total=total))

    def copy(self) -> None:
        rows = sorted(i.row() for i in self.view.selectionModel().selectedRows())
        texts = ("\t".join(str(self._proxy.index(r, c).data()) for c in range(self._proxy.columnCount())) for r in rows)
        QGuiApplication.clipboard().setText("\n".join(texts))


def tensor_rows(tensors: Sequence[Tensor]) -> list[tuple[tuple[str, Any], ...]]:
    """Name, type, shape, size, shard."""
    return [((t.name, _natural(t.name)), (t.type_name.upper(), t.type_name),
             ("×".join(str(n) for n in t.shape), float(_elements(t.shape))),
             (bytes_text(t.nbytes), float(t.nbytes or 0))) for t in tensors]


def _elements(shape: Sequence[int]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


def _natural(name: str) -> str:
    """Layer 10 after layer 9."""
    return ".".join(part.zfill(6) if part.isdigit() else part for part in name.split("."))


def value_words(value: Any, most: int = 12) -> str:
    """A metadata value in a line; long lists are counted, not printed."""
    if isinstance(value, LazyArray):
        return tr("list of {length} × {kind}", length=count_text(value.length), kind=value.element)
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        line = " ".join(value.split())
        return line if len(line) <= 400 else line[:400] + "…"
    if isinstance(value, Sequence):
        shown = ", ".join(value_words(v) for v in value[:most])
        return shown if len(value) <= most else tr("{values}, … ({length} in all)", values=shown,
                                                   length=count_text(len(value)))
    return str(value)


def metadata_rows(metadata: Mapping[str, Any]) -> list[tuple[tuple[str, Any], ...]]:
    return [((key, key), (value_words(value), value_words(value))) for key, value in metadata.items()]
