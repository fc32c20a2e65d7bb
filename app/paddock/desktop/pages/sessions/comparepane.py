"""A against B: a sentence, both over time, a table of what differs, speed by context."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QWidget

from paddock.desktop.pages.sessions.compare import Line, Side, about, headline, lines_of, points_of
from paddock.desktop.pages.sessions.rows import duration_s, duration_words, letter, when_words
from paddock.desktop.pages.sessions.sketches import Cloud, Scatter, TimeSketch
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, row, rule, tool_button
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.plots import ink
from paddock.desktop.plots.scale import calm_top
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr


class Badge(QWidget):
    """The letter of a side on its colour."""

    def __init__(self, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._number = number
        self.setFixedSize(theme().px(18), theme().px(18))
        self.setAccessibleName(letter(number))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_badge(painter, QRectF(self.rect()), self._number)
        painter.end()


def paint_badge(painter: QPainter, box: QRectF, number: int) -> None:
    """A (1), B (2), … in a rounded square."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink.data(number))
    painter.drawRoundedRect(box, 3, 3)
    painter.setPen(ink.on_data(number))
    painter.setFont(ink.caption(bold=True))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), letter(number))


class ComparePane(QFrame):
    """`show_sides`: A is the earlier session."""

    closed = Signal()
    report_asked = Signal(list)
    """ids of both sessions"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        self._headline = Label("", "title", weight=600, wrap=True)
        self._caution = Label(tr("The requests were not the same, so this is a hint. A tinted difference is beyond "
                                 "chance (95 %, by the requests’ spread)."), "note", "text2", wrap=True)
        close = tool_button("x", tr("Close the comparison"), self.closed.emit, quiet=True, small=False)
        words = column(self._headline, self._caution, gap=4)
        report = button(tr("Report…"), "file", self._ask_report)
        self._ids: list[int] = []
        head = row(words, report, close, gap=8, margins=(16, 8, 8, 10))
        head.setStretch(0, 1)
        head.setAlignment(report, Qt.AlignmentFlag.AlignTop)
        head.setAlignment(close, Qt.AlignmentFlag.AlignTop)
        self.sketches = (TimeSketch(1), TimeSketch(2))
        self._titles = (Label("", weight=600), Label("", weight=600))
        self._notes = (Label("", "note", "text2", elide="end"), Label("", "note", "text2", elide="end"))
        both = row(*(self._side(i) for i in (0, 1)), gap=0)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(0, 2)
        self._grid.setColumnStretch(1, 3)
        self._grid.setColumnStretch(2, 3)
        self.scatter = Scatter()
        self.scatter.setMinimumHeight(theme().px(190))
        inner = QWidget()
        inner.setLayout(column(both, rule(), self._padded(self._grid), rule(), self._scatter_head(), self.scatter, None,
                               gap=0))
        whole = column(head, rule(), scrolling(inner, focus=False), gap=0)
        whole.setStretch(2, 1)
        self.setLayout(whole)

    @staticmethod
    def _padded(inside: QGridLayout) -> QWidget:
        holder = QWidget()
        holder.setLayout(column(inside, margins=(16, 10, 16, 12)))
        return holder

    def _side(self, i: int) -> QWidget:
        title = row(Badge(i + 1), self._titles[i], self._notes[i], gap=8, margins=(12, 8, 12, 0))
        title.setStretch(2, 1)
        self.sketches[i].setMinimumHeight(theme().px(120))
        holder = QWidget()
        holder.setLayout(column(title, self.sketches[i], gap=4))
        return holder

    def _scatter_head(self) -> QWidget:
        holder = QWidget()
        holder.setLayout(row(Label(tr("Generation by tokens in context, t/s"), weight=600), None, Badge(1),
                             Label(tr("dots, solid"), "note", "text2"), Badge(2),
                             Label(tr("triangles, dashed"), "note", "text2"), gap=6, margins=(16, 10, 16, 4)))
        return holder

    def show_sides(self, a: Side, b: Side) -> None:
        """All anew."""
        self._ids = [a.detail.row.id, b.detail.row.id]
        self._headline.setText(headline(a, b))
        curves = [self._curve(side) for side in (a, b)]
        highs = [float(y[np.isfinite(y)].max()) for _, y in curves if np.isfinite(y).any()]
        top = calm_top(max(highs, default=10.0), 0.0, 10.0)
        for i, (side, (t, y)) in enumerate(zip((a, b), curves, strict=True)):
            duration = duration_words(duration_s(side.detail.row))
            title, note = about(side, when_words(side.detail.row.start), duration)
            self._titles[i].setText(title)
            self._notes[i].setText(tr("{about}, in t/s", about=note))
            self.sketches[i].setAccessibleName(f"{'AB'[i]} {title}")
            self.sketches[i].show_curve(t, y, top)
        self.scatter.show_clouds(Cloud(*points_of(a.detail.requests)), Cloud(*points_of(b.detail.requests)))
        self._fill(lines_of(a, b))

    def _ask_report(self) -> None:
        self.report_asked.emit(self._ids)

    @staticmethod
    def _curve(side: Side) -> tuple[np.ndarray, np.ndarray]:
        t, y = side.series.view("generation_per_s", points=500)
        return np.asarray(t, float), np.asarray(y, float)

    def _fill(self, lines: list[Line]) -> None:
        empty_layout(self._grid)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self._grid.addWidget(Badge(1), 0, 1, right)
        self._grid.addWidget(Badge(2), 0, 2, right)
        self._grid.addWidget(Label(tr("Difference"), "note", "text2"), 0, 3)
        for y, line in enumerate(lines, start=1):
            if line.heading:
                label = Label(line.label, "note", "text2")
                label.setContentsMargins(0, 8, 0, 0)
                self._grid.addWidget(label, y, 0, 1, 4)
                continue
            self._grid.addWidget(Label(line.label, elide="middle"), y, 0)
            for x, text in ((1, line.a), (2, line.b)):
                cell = Label(text, elide="middle", weight=500 if line.tone and x == 2 else 400)
                cell.setAlignment(right)
                self._grid.addWidget(cell, y, x)
            role = {"ok": "ok", "bad": "bad", "changed": "accent"}.get(line.tone or "", "text2")
            difference = QWidget()
            difference.setLayout(row(IconLabel(line.icon, 12, role), Label(line.difference, role=role), None, gap=6))
            self._grid.addWidget(difference, y, 3)
