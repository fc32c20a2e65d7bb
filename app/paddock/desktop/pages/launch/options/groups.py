"""The groups at the left: what changed in each, and while searching how many match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from paddock.desktop.pages.launch.options.heading import paint_chip
from paddock.desktop.parts.basic import calm_view
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

WIDTH = 236
_HEIGHT = 28
_ROW = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class GroupRow:
    """One group: `hits` is None while nothing is searched or filtered."""

    key: str
    name: str
    changes: int
    hits: int | None


class _Model(QAbstractListModel):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[GroupRow] = []

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        group = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return group.name
        if role == _ROW:
            return group
        if role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole):
            parts = [group.name]
            if group.changes:
                parts.append(tr("{count} changed", plural="{count} changed", count=group.changes))
            if group.hits is not None:
                parts.append(tr("{count} matches", plural="{count} match", count=group.hits))
            return ", ".join(parts)
        return None

    def show(self, rows: Sequence[GroupRow]) -> None:
        if [r.key for r in rows] != [r.key for r in self.rows]:
            self.beginResetModel()
            self.rows = list(rows)
            self.endResetModel()
        elif list(rows) != self.rows:
            self.rows = list(rows)
            self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))


class _Delegate(QStyledItemDelegate):
    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(theme().px(120), theme().px(_HEIGHT))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem,
              index: QModelIndex | QPersistentModelIndex) -> None:
        t = theme()
        group: GroupRow = index.data(_ROW)
        place: QRect = option.rect
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        focused = bool(option.state & QStyle.StateFlag.State_HasFocus)
        painter.save()
        if selected:
            painter.fillRect(place, t.color("sel"))
            edge_left = place.left() + t.px(13 if group.key else 6)
            painter.fillRect(QRect(edge_left, place.top() + 7, 3, place.height() - 14), t.color("accent"))
        empty = group.hits == 0
        whole = not group.key
        painter.setFont(t.font("body", 600 if selected or whole else 400))
        painter.setPen(t.color("text3" if empty else "text"))
        left = place.left() + t.px(16 if whole else 26)
        right = place.right() - t.px(15)
        counts = QRect(right - t.px(28), place.top(), t.px(28), place.height())
        edge = right
        if group.hits is not None:
            edge = counts.left()
        if group.changes and not whole:
            edge = edge - t.px(28)
        name = painter.fontMetrics().elidedText(group.name, Qt.TextElideMode.ElideRight, edge - left - t.px(4))
        painter.drawText(QRect(left, place.top(), edge - left, place.height()), Qt.AlignmentFlag.AlignVCenter, name)
        if group.hits is not None:
            painter.setFont(t.font("body"))
            painter.drawText(counts, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, str(group.hits))
        if group.changes and not whole:
            paint_chip(painter, str(group.changes), right - (t.px(28) if group.hits is not None else 0),
                       place.center().y() + 1, "base" if selected else "sel")
        if focused and selected:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(t.color("accent"))
            painter.drawRect(place.adjusted(0, 0, -1, -1))
        painter.restore()


class GroupList(QListView):
    """`wanted` comes when a person chooses a group; "" is all of them."""

    wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = _Model()
        self.setModel(self._model)
        self.setItemDelegate(_Delegate(self))
        self.setAccessibleName(tr("Groups of options"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        calm_view(self)
        self._quiet = False
        self.clicked.connect(self._tell)
        self.selectionModel().currentChanged.connect(self._moved)

    def show_rows(self, rows: Sequence[GroupRow]) -> None:
        """Names and counts; what is selected stays."""
        key = self.key()
        self._quiet = True
        self._model.show(rows)
        self._quiet = False
        self.select(key)

    def rows(self) -> list[GroupRow]:
        return list(self._model.rows)

    def key(self) -> str:
        """The selected group, "" for all."""
        index = self.currentIndex()
        return self._model.rows[index.row()].key if index.isValid() else ""

    def select(self, key: str) -> None:
        """Select without telling."""
        at = next((i for i, row in enumerate(self._model.rows) if row.key == key), 0)
        if self._model.rows and self.currentIndex().row() != at:
            self._quiet = True
            self.setCurrentIndex(self._model.index(at))
            self._quiet = False

    @Slot()
    def _tell(self) -> None:
        self.wanted.emit(self.key())

    @Slot()
    def _moved(self) -> None:
        if not self._quiet and self.hasFocus():
            self.wanted.emit(self.key())
