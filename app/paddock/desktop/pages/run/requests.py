"""The requests of a session as a table: live rows change in place, a new one comes on top."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from paddock.desktop.icons import paint_icon
from paddock.desktop.parts.tables import row_table
from paddock.desktop.plots import ink
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.session.model import Request
from paddock.units import count_text, missing, number_text, seconds_text

Index = QModelIndex | QPersistentModelIndex

STATES = {"active": ("circle-dot", "accent"), "done": ("check", "ok"), "cancelled": ("x", "unk"),
          "failed": ("circle-x", "bad")}
REQUEST_ROLE = int(Qt.ItemDataRole.UserRole)
SORT_ROLE = REQUEST_ROLE + 1


def state_words(request: Request, left_s: float | None = None) -> str:
    """The state as the table says it: "62 %, 12 s" while the prompt is read, "writing", "done", "left", "failed"."""
    if request.status == "active":
        if request.generated_tokens:
            return tr("writing")
        words = tr("reading") if request.progress is None else tr("{percent} %", percent=round(request.progress * 100))
        return words if left_s is None else f"{words}, {seconds_text(left_s)}"
    return {"done": tr("done"), "cancelled": tr("left"), "failed": tr("failed")}.get(request.status, request.status)


def _count(value: int | None) -> str:
    return "–" if value is None else count_text(value)


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None or missing(value) else number_text(value, digits)


def _first(request: Request) -> str:
    value = request.ttft_s
    return _figure(value, 2 if value is not None and value < 1 else 1)


def _prompt_rate(request: Request) -> str:
    """A rate over a handful of tokens, or over what the cache gave, says nothing about the machine."""
    value = request.prompt_per_s
    return _figure(value, 0 if value is not None and value >= 100 else 1)


@dataclass(frozen=True)
class Column:
    """Header, its tooltip, what a cell says, what it is sorted by."""

    title: str
    tip: str
    text: Callable[[Request], str]
    value: Callable[[Request], float | None]
    right: bool = True


def columns() -> list[Column]:
    """Columns from left to right; narrow views drop them from the right, but never the state."""
    return [
        Column(tr("#"), tr("Number in this session"), lambda r: str(r.number), lambda r: r.number, False),
        Column(tr("Slot"), tr("Slot of the server"), lambda r: _count(r.slot), lambda r: r.slot),
        Column(tr("Prompt"), tr("Tokens of the prompt, the cached ones included"),
               lambda r: _count(r.prompt_tokens), lambda r: r.prompt_tokens),
        Column(tr("Cached"), tr("Prompt tokens taken from the cache"), lambda r: _count(r.cached_tokens),
               lambda r: r.cached_tokens),
        Column(tr("Out"), tr("Tokens generated"), lambda r: _count(r.generated_tokens), lambda r: r.generated_tokens),
        Column(tr("First"), tr("Time to the first token, seconds"), _first, lambda r: r.ttft_s),
        Column(tr("t/s"), tr("Tokens generated in a second"), lambda r: _figure(r.generation_per_s, 1),
               lambda r: r.generation_per_s),
        Column(tr("State"), tr("What became of it"), state_words, lambda r: float(r.number), False),
        Column(tr("Prompt t/s"), tr("Prompt tokens read in a second, without the cached ones"), _prompt_rate,
               lambda r: r.prompt_per_s),
    ]


class RequestsModel(QAbstractTableModel):
    """Rows are `Request` values, the newest on top, until a click on a header sorts them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns = columns()
        self._rows: list[Request] = []
        self._row_of: dict[int, int] = {}
        self._sorted: tuple[int, Qt.SortOrder] | None = None
        self._left: Mapping[int, float] = {}

    def requests(self) -> list[Request]:
        return self._rows

    def show_requests(self, requests: Sequence[Request], left_s: Mapping[int, float] | None = None) -> None:
        """The session's requests, oldest first. Rows that differ are told in one go; the order is left alone. `left_s`:
        by number, how long the prompt will be read still."""
        known = len(self._rows)
        before, self._left = self._left, left_s or {}
        if known > len(requests) or (known and requests and requests[0].number > min(self._row_of)):
            self._reset(requests)
            return
        other = {n for n in {*before, *self._left} if before.get(n) != self._left.get(n)}
        changed = [r for r in requests if r.number in self._row_of
                   and (r.number in other or self._rows[self._row_of[r.number]] != r)]
        for request in changed:
            self._rows[self._row_of[request.number]] = copy.copy(request)
        if changed:
            rows = [self._row_of[r.number] for r in changed]
            self.dataChanged.emit(self.index(min(rows), 0), self.index(max(rows), len(self.columns) - 1))
        new = [copy.copy(r) for r in requests if r.number not in self._row_of]
        if new:
            self.beginInsertRows(QModelIndex(), 0, len(new) - 1)
            self._rows[:0] = reversed(new)
            self._number_rows()
            self.endInsertRows()

    def _reset(self, requests: Sequence[Request]) -> None:
        self.beginResetModel()
        self._rows = [copy.copy(r) for r in reversed(requests)]
        self._number_rows()
        self.endResetModel()

    def _number_rows(self) -> None:
        self._row_of = {r.number: i for i, r in enumerate(self._rows)}

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        request, column = self._rows[index.row()], self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self.state(request) if column.text is state_words else column.text(request)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.right else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role == REQUEST_ROLE:
            return request
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(request)
        return None

    def state(self, request: Request) -> str:
        """In words, with the time left where it is known."""
        return state_words(request, self._left.get(request.number))

    def _tip(self, request: Request) -> str | None:
        if request.error:
            return str(request.error)
        left = self._left.get(request.number)
        return None if left is None else tr("Its prompt is read in about {time}.", time=seconds_text(left))

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.right else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """By a header's click; what is not known comes last either way."""
        if not 0 <= column < len(self.columns):
            return
        value = self.columns[column].value
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        numbers = [self._rows[i.row()].number for i in before]
        known = [r for r in self._rows if value(r) is not None]
        unknown = [r for r in self._rows if value(r) is None]
        known.sort(key=lambda r: value(r) or 0.0, reverse=order is Qt.SortOrder.DescendingOrder)
        self._rows = known + unknown
        self._number_rows()
        after = [self.index(self._row_of[n], i.column()) for n, i in zip(numbers, before, strict=True)]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()


class StateDelegate(QStyledItemDelegate):
    """Icon and word; while a prompt is read, a small bar and its percent."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        request = index.data(REQUEST_ROLE)
        inner = QStyleOptionViewItem(option)
        inner.text = ""
        super().paint(painter, inner, self._blank(index))
        if not isinstance(request, Request):
            return
        box = QRectF(option.rect).adjusted(8, 0, -4, 0)
        side = theme().px(12)
        reading = request.status == "active" and request.progress is not None and not request.generated_tokens
        painter.save()
        if reading:
            bar = QRectF(box.left(), box.center().y() - 3, theme().px(26), 6)
            painter.setPen(ink.pen(ink.role("edge")))
            painter.drawRect(bar)
            filled = QRectF(bar.left(), bar.top(), bar.width() * (request.progress or 0.0), bar.height())
            painter.fillRect(filled.adjusted(1, 1, 0, 0), ink.data(2))
            left = bar.right() + 5
        else:
            name, role = STATES.get(request.status, ("circle-help", "unk"))
            paint_icon(painter, name, QRectF(box.left(), box.center().y() - side / 2, side, side), role)
            left = box.left() + side + 4
        painter.setFont(option.font)
        painter.setPen(ink.role("text"))
        room = int(box.right() - left)
        words = option.fontMetrics.elidedText(str(index.data()), Qt.TextElideMode.ElideRight, room)
        painter.drawText(QRectF(left, box.top(), box.right() - left, box.height()),
                         int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), words)
        painter.restore()

    def _blank(self, index: Index) -> QModelIndex:
        return QModelIndex()


class RequestsView(QTableView):
    """Dense, sorted on a click only; columns leave from the right when there is no room."""

    STATE = 7
    _DROP = (8, 3, 1)
    """Which columns leave first: prompt t/s, cached, slot."""

    def __init__(self, model: RequestsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        row_table(self)
        self.setAccessibleName(tr("Requests"))
        self.setStyleSheet("QTableView::item{padding:0 4px}")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAlternatingRowColors(False)
        self.setItemDelegateForColumn(self.STATE, StateDelegate(self))
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(False)
        header.setMinimumSectionSize(24)
        header.sectionClicked.connect(self._clicked)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self._widths()

    def _clicked(self, section: int) -> None:
        header = self.horizontalHeader()
        descending = not (header.isSortIndicatorShown() and header.sortIndicatorSection() == section
                          and header.sortIndicatorOrder() is Qt.SortOrder.DescendingOrder)
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        header.setSortIndicatorShown(True)
        header.setSortIndicator(section, order)
        self.model().sort(section, order)

    def _widths(self) -> None:
        """Wide enough for the largest usual figure; the state takes the rest."""
        metrics = self.fontMetrics()
        header = self.horizontalHeader()
        samples = ("1,234", "12", "131,072", "131,072", "12,345", "12.3", "123.4", "cancelled", "12,345")
        model = self.model()
        self._needs = []
        for i, sample in enumerate(samples):
            title = str(model.headerData(i, Qt.Orientation.Horizontal))
            width = max(metrics.horizontalAdvance(sample), metrics.horizontalAdvance(title)) + 16
            self._needs.append(width + (theme().px(18) if i == self.STATE else 0))
        room = self.viewport().width()
        shown = set(range(len(samples)))
        for column in self._DROP:
            if sum(self._needs[i] for i in shown) > room:
                shown.discard(column)
        extra = max(0, room - sum(self._needs[i] for i in shown)) // max(len(shown), 1)
        for i in range(len(samples)):
            self.setColumnHidden(i, i not in shown)
            if i in shown:
                header.resizeSection(i, self._needs[i] + extra)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._widths()
