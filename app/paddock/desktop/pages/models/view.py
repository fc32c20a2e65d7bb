"""The list of model files: verdicts and problems as icon and word, long names cut in the middle."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QHeaderView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from paddock.desktop.icons import paint_icon
from paddock.desktop.pages.models.rows import (
    ARCHITECTURE,
    CHECK,
    CONTEXT,
    FIT,
    NAME,
    PLACE,
    QUANT,
    ROW_ROLE,
    SIZE,
    ModelRow,
    ModelsFilter,
)
from paddock.desktop.parts.flat import Index
from paddock.desktop.parts.signs import VERDICTS
from paddock.desktop.parts.tables import row_table
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

_PROBLEMS = {"error": ("circle-x", "bad"), "warning": ("triangle-alert", "warn"), "hint": ("info", "accent")}


class _Cell(QStyledItemDelegate):
    """Everything but the text is drawn by the style; the text with its icon by us."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(ROW_ROLE)
        super().paint(painter, option, QModelIndex())
        if not isinstance(row, ModelRow):
            return
        painter.save()
        box = QRectF(option.rect).adjusted(theme().px(16 if index.column() == FIT else 8), 0, -theme().px(8), 0)
        self._paint(painter, option, index, row, box)
        painter.restore()

    def _paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index, row: ModelRow, box: QRectF) -> None:
        right = index.column() in (SIZE, CONTEXT)
        quiet = index.column() in (QUANT, ARCHITECTURE, CONTEXT, PLACE)
        self._text(painter, option, box, str(index.data() or ""), "text2" if quiet else "text", right=right,
                   cut=Qt.TextElideMode.ElideLeft if index.column() == PLACE else Qt.TextElideMode.ElideMiddle)

    @staticmethod
    def _text(painter: QPainter, option: QStyleOptionViewItem, box: QRectF, text: str, role: str, *,
              right: bool = False, weight: int = 400,
              cut: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle) -> float:
        """Draw, cut where it does not fit; returns where it ended."""
        painter.setFont(theme().font("body", weight))
        painter.setPen(theme().color(role))
        shown = painter.fontMetrics().elidedText(text, cut, int(box.width()) + 1)
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(box, int(side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), shown)
        return float(box.left() + painter.fontMetrics().horizontalAdvance(shown))


class _FitCell(_Cell):
    def _paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index, row: ModelRow, box: QRectF) -> None:
        if row.verdict is None:
            self._text(painter, option, box, "…" if row.launchable else "–", "text3")
            return
        name, role = VERDICTS[row.verdict]
        side = theme().px(14)
        paint_icon(painter, name, QRectF(box.left(), box.center().y() - side / 2, side, side), role)
        self._text(painter, option, box.adjusted(side + 4, 0, theme().px(8), 0), str(index.data()), role)


class _NameCell(_Cell):
    def _paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index, row: ModelRow, box: QRectF) -> None:
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        note = f" · {row.note}" if row.note else ""
        painter.setFont(theme().font("body", 500 if chosen else 400))
        wide = painter.fontMetrics().horizontalAdvance(note)
        if wide > box.width() / 2:
            note, wide = "", 0
        name = QRectF(box.left(), box.top(), box.width() - wide, box.height())
        end = self._text(painter, option, name, row.name, "text", weight=500 if chosen else 400)
        if note:
            self._text(painter, option, QRectF(end, box.top(), wide + 4, box.height()), note, "text3")


class _CheckCell(_Cell):
    def _paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index, row: ModelRow, box: QRectF) -> None:
        if not row.counted:
            return
        name, role = _PROBLEMS[row.worst or "hint"]
        side = theme().px(14)
        paint_icon(painter, name, QRectF(box.left(), box.center().y() - side / 2, side, side), role)
        self._text(painter, option, box.adjusted(side + 4, 0, 0, 0), str(row.counted), role)


class ModelsView(QTableView):
    """Columns leave from the right when there is no room, but never name, quant, size, fit and check."""

    opened = Signal()
    """Enter or double click on a row."""

    _DROP = (PLACE, CONTEXT, ARCHITECTURE)

    def __init__(self, proxy: ModelsFilter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(proxy)
        row_table(self, 28)
        self.setAccessibleName(tr("Model files"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._delegates = (_Cell(self), _FitCell(self), _NameCell(self), _CheckCell(self))
        self.setItemDelegate(self._delegates[0])
        for column, delegate in ((FIT, self._delegates[1]), (NAME, self._delegates[2]), (CHECK, self._delegates[3])):
            self.setItemDelegateForColumn(column, delegate)
        header = self.horizontalHeader()
        header.setStyleSheet("QHeaderView::section:first{padding-left:16px}")
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setMinimumSectionSize(32)
        self.setSortingEnabled(True)
        self.sortByColumn(NAME, Qt.SortOrder.AscendingOrder)
        self.doubleClicked.connect(lambda _index: self.opened.emit())
        self.fit_columns()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.opened.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.fit_columns()

    def fit_columns(self) -> None:
        """Fixed widths from samples; the name takes what is left."""
        metrics = self.fontMetrics()
        samples = {FIT: tr("Won’t fit"), QUANT: "IQ3_XXS", SIZE: "888.88 GiB", ARCHITECTURE: "deepseek2",
                   CONTEXT: "1,048,576", PLACE: "LM Studio", CHECK: tr("Check")}
        needs = {c: metrics.horizontalAdvance(t) + theme().px(20) for c, t in samples.items()}
        needs[FIT] += theme().px(28)
        for column in (ARCHITECTURE, CONTEXT, SIZE, QUANT):
            title = str(self.model().headerData(column, Qt.Orientation.Horizontal))
            needs[column] = max(needs[column], metrics.horizontalAdvance(title) + theme().px(22))
        room, least = self.viewport().width(), theme().px(210)
        shown = set(needs)
        for column in self._DROP:
            if sum(needs[c] for c in shown) + least > room:
                shown.discard(column)
        for column, width in needs.items():
            self.setColumnHidden(column, column not in shown)
            self.setColumnWidth(column, width)
        self.setColumnWidth(NAME, max(theme().px(120), room - sum(needs[c] for c in shown)))
