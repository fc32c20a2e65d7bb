"""The table of sessions: state as icon and word, the rest as text; columns leave where the detail takes their room."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from paddock.desktop.icons import paint_icon
from paddock.desktop.pages.sessions.comparepane import paint_badge
from paddock.desktop.pages.sessions.rows import (
    CHOOSE,
    DURATION,
    ENGINE,
    MODEL,
    PROFILE,
    REQUESTS,
    ROW_ROLE,
    SIGNS,
    SPEED,
    START,
    STATE,
    SessionsModel,
    Shown,
)
from paddock.desktop.parts.flat import Index
from paddock.desktop.parts.tables import row_table
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr


class _Cell(QStyledItemDelegate):
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, QModelIndex())
        shown = index.data(ROW_ROLE)
        if not isinstance(shown, Shown):
            return
        painter.save()
        column = index.column()
        if column == CHOOSE:
            self._paint_choice(painter, QRectF(option.rect), index)
            painter.restore()
            return
        box = QRectF(option.rect).adjusted(theme().px(8), 0, -theme().px(8), 0)
        role = "text" if column in (MODEL, SPEED) else "text2"
        if column == STATE:
            name, role = SIGNS.get(shown.row.state, ("circle-help", "unk"))
            side = theme().px(14)
            paint_icon(painter, name, QRectF(box.left(), box.center().y() - side / 2, side, side), role)
            box.adjust(side + 5, 0, 0, 0)
            # Where the detail takes the room, the icon stands alone; its word is in the tooltip and for screen readers.
            if box.width() < theme().px(40):
                painter.restore()
                return
        painter.setFont(theme().font("body"))
        painter.setPen(theme().color(role))
        text = painter.fontMetrics().elidedText(str(index.data()), Qt.TextElideMode.ElideMiddle, int(box.width()) + 1)
        right = column in (DURATION, REQUESTS, SPEED)
        side_flag = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(box, int(side_flag | Qt.AlignmentFlag.AlignVCenter), text)
        painter.restore()


    @staticmethod
    def _paint_choice(painter: QPainter, box: QRectF, index: Index) -> None:
        """The letter of a chosen session, else an empty box."""
        side = theme().px(15)
        square = QRectF(box.right() - side - 4, box.center().y() - side / 2, side, side)
        model, shown = index.model(), index.data(ROW_ROLE)
        number = model.side(shown.row.id) if isinstance(model, SessionsModel) else 0
        if number:
            paint_badge(painter, square, number)
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme().color("edge"))
        painter.setBrush(theme().color("base"))
        painter.drawRoundedRect(square.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)


class SessionsView(QTableView):
    """Opens on Enter or a click; the box in front, or Space, chooses for a comparison."""

    opened = Signal(int)
    """id of the session"""
    delete_asked = Signal()

    _DROP = (ENGINE, PROFILE, REQUESTS, DURATION, SPEED)

    def __init__(self, model: SessionsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        row_table(self, 28)
        self._cell = _Cell(self)
        self.setItemDelegate(self._cell)
        self.setAccessibleName(tr("Sessions"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setMinimumSectionSize(32)
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._sort)
        self.clicked.connect(self._open_index)
        self.fit_columns()

    def _sort(self, section: int) -> None:
        header = self.horizontalHeader()
        again = header.isSortIndicatorShown() and header.sortIndicatorSection() == section
        down = not again or header.sortIndicatorOrder() is Qt.SortOrder.AscendingOrder
        order = Qt.SortOrder.DescendingOrder if down else Qt.SortOrder.AscendingOrder
        header.setSortIndicatorShown(True)
        header.setSortIndicator(section, order)
        self.model().sort(section, order)

    def _open_index(self, index: Index) -> None:
        shown = index.data(ROW_ROLE)
        if not isinstance(shown, Shown):
            return
        if index.column() == CHOOSE:
            self._choose(shown)
        else:
            self.opened.emit(shown.row.id)

    def _choose(self, shown: Shown) -> None:
        model = self.model()
        if isinstance(model, SessionsModel):
            model.choose(shown.row.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._open_index(self.currentIndex().siblingAtColumn(STATE))
        elif event.key() == Qt.Key.Key_Space and isinstance(self.currentIndex().data(ROW_ROLE), Shown):
            self._choose(self.currentIndex().data(ROW_ROLE))
        elif event.key() == Qt.Key.Key_Delete:
            self.delete_asked.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.fit_columns()

    def fit_columns(self) -> None:
        metrics, px = self.fontMetrics(), theme().px
        samples = {STATE: tr("did not start"), START: "2026-12-22 22:22", PROFILE: "Experts in RAM",
                   ENGINE: "llama.cpp 11434 (PATH)", DURATION: "22 min 22 s", REQUESTS: tr("Requests"),
                   SPEED: "1,234.5"}
        needs = {c: metrics.horizontalAdvance(t) + px(22) for c, t in samples.items()}
        needs[STATE] += px(16)
        needs[CHOOSE] = px(34)
        room, least = self.viewport().width(), px(180)
        shown = set(needs)
        for column in self._DROP:
            if sum(needs[c] for c in shown) + least > room:
                shown.discard(column)
        if sum(needs[c] for c in shown) + px(120) > room:
            needs[STATE] = px(20) + metrics.horizontalAdvance(tr("State"))
        for column, width in needs.items():
            self.setColumnHidden(column, column not in shown)
            self.setColumnWidth(column, width)
        self.setColumnWidth(MODEL, max(px(90), room - sum(needs[c] for c in shown)))
