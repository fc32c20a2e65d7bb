"""The column right of a plot: what each line looks like, its name, its value now (or under the cross-hair)."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from paddock.desktop.plots import ink, sizes

_SAMPLE = 16
_INDENT = 6


@dataclass
class Row:
    """One line of a legend. `look`: line, dots (a limit or prediction), fill, hatch, word (the name alone)."""

    name: str
    data: int = 1
    """Number of the data colour; 0 = the text's own."""
    look: str = "line"
    value: str = ""
    role: str = ""
    """A colour role instead of a data colour: "bad" for limits, "text" for predictions."""


class Legend(QWidget):
    """Painted rows; as many as the height holds, the rest is counted in the last one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self.setFixedWidth(sizes.legend())
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def fit(self) -> None:
        """As wide as the font in use asks for."""
        self.setFixedWidth(sizes.legend())
        self.update()

    def set_rows(self, rows: list[Row]) -> None:
        """Repaints the rows that differ."""
        if rows != self._rows:
            before, self._rows = self._rows, rows
            if len(before) != len(rows):
                self.update()
            else:
                for i, (old, new) in enumerate(zip(before, rows, strict=True)):
                    if old != new:
                        self.update(self._row_box(i).toAlignedRect())
            self.setToolTip("\n".join(f"{r.name}  {r.value}".strip() for r in rows))

    @property
    def rows(self) -> list[Row]:
        return self._rows

    def minimumSizeHint(self) -> QSize:
        return QSize(sizes.legend(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(ink.caption())
        for i, row in enumerate(self._rows[:self._room()]):
            box = self._row_box(i)
            if box.intersects(QRectF(event.rect())):
                self._paint_row(painter, row, box)
        painter.end()

    def _row_height(self) -> int:
        """Closer together rather than cut off, down to the height of the letters."""
        least = QFontMetrics(ink.caption()).ascent() + 1
        return max(least, min(sizes.row(), (self.height() - 2) // max(len(self._rows), 1)))

    def _room(self) -> int:
        """How many rows there is room for."""
        return max(1, self.height() // self._row_height())

    def _row_box(self, number: int) -> QRectF:
        height = self._row_height()
        top = max(0.0, (self.height() - min(len(self._rows), self._room()) * height) / 2)
        return QRectF(_INDENT, top + number * height, self.width() - _INDENT - 12, height)

    def _paint_row(self, painter: QPainter, row: Row, box: QRectF) -> None:
        metrics = painter.fontMetrics()
        colour = ink.role(row.role) if row.role else (ink.data(row.data) if row.data else ink.role("text2"))
        self._paint_sample(painter, row, colour, box)
        value_width = metrics.horizontalAdvance(row.value) if row.value else 0
        left = box.left() + _SAMPLE + 8
        name_box = QRectF(left, box.top(), box.right() - left - (value_width + 6 if value_width else 0), box.height())
        painter.setPen(ink.role("text2"))
        name = metrics.elidedText(row.name, Qt.TextElideMode.ElideMiddle, int(name_box.width()))
        painter.drawText(name_box, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), name)
        painter.setPen(ink.role("text"))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), row.value)

    def _paint_sample(self, painter: QPainter, row: Row, colour: QColor, box: QRectF) -> None:
        middle = box.center().y()
        if row.look == "word":
            return
        if row.look in ("fill", "hatch", "solid"):
            swatch = QRectF(box.left() + 2.5, middle - 5, 11, 10)
            ink.paint_swatch(painter, swatch, colour, row.look)
            return
        pen = QPen(colour, 2)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        dash = ink.LIMIT_DASH if row.look == "limit" else ink.DOTS if row.look == "dots" else ink.dash(row.data)
        if dash:
            pen.setDashPattern([d / 2 for d in dash])
        painter.setPen(pen)
        painter.drawLine(QPointF(box.left(), middle), QPointF(box.left() + _SAMPLE, middle))
