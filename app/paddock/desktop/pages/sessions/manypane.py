"""Three sessions and more beside each other: settings that differ beside results that differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QWidget

from paddock.desktop.pages.sessions.charts import Box, TrendChart
from paddock.desktop.pages.sessions.compare import Side, median, setting_words, speeds
from paddock.desktop.pages.sessions.comparepane import Badge
from paddock.desktop.pages.sessions.memory import compare, main_device
from paddock.desktop.pages.sessions.rows import duration_s, duration_words, letter, when_words
from paddock.desktop.parts.basic import Label, button, column, empty_layout, row, rule, tool_button
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.units import count_text, gib_text, number_text, percent_text

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Row:
    """One line: a label and a text for each session; `best`: places of the best figures; a heading has no texts."""

    label: str
    texts: tuple[str, ...] = ()
    best: frozenset[int] = frozenset()


def rows_of(sides: Sequence[Side]) -> list[Row]:
    """What was asked (only what differs), then what came of it."""
    out = [Row(tr("What differs"))]
    asked = [(tr("Model"), [s.detail.row.model or "–" for s in sides]),
             (tr("Engine"), [s.detail.row.engine or "–" for s in sides]),
             (tr("Profile"), [s.detail.row.profile or "–" for s in sides]), *_flags(sides)]
    differs = [Row(label, tuple(texts)) for label, texts in asked if len(set(texts)) > 1]
    out += differs or [Row(tr("Plan and engine"), tuple(tr("same") for _ in sides))]
    out.append(Row(tr("What came of it, medians")))
    told = [speeds(s.detail.requests) for s in sides]
    for label, key, digits, more in ((tr("Generation, t/s"), "generation", 1, True),
                                     (tr("Prompt, t/s"), "prompt", 0, True), (tr("First token, s"), "first", 2, False)):
        out.append(_figures(label, [median(one[key]) for one in told], more, partial(number_text, digits=digits)))
    out.append(_figures(tr("Draft acceptance"), [_acceptance(s) for s in sides], True, percent_text))
    out.append(_figures(tr("Memory, GiB"), [_memory(s) for s in sides], False, lambda v: gib_text(v, 2)))
    out.append(Row(tr("Requests"), tuple(count_text(s.detail.row.requests) for s in sides)))
    return out


def _flags(sides: Sequence[Side]) -> list[tuple[str, list[str]]]:
    plans = [s.detail.plan for s in sides]
    names = dict.fromkeys(setting.option for plan in plans if plan is not None for setting in plan)
    return [(f"--{name}", [tr("not kept") if plan is None else setting_words(plan, name) for plan in plans])
            for name in names]


def _acceptance(side: Side) -> float:
    drafted = sum(r.draft_tokens or 0 for r in side.detail.requests)
    return sum(r.accepted_tokens or 0 for r in side.detail.requests) / drafted if drafted else math.nan


def _memory(side: Side) -> float:
    found = main_device(compare(side.detail.estimate, side.detail.actual))
    return float(found[2]) if found is not None and found[2] is not None else math.nan


def _figures(label: str, values: Sequence[float], more: bool, form: Callable[[float], str]) -> Row:
    known = [v for v in values if math.isfinite(v)]
    best = (max(known) if more else min(known)) if len(set(known)) > 1 else math.nan
    return Row(label, tuple(form(v) if math.isfinite(v) else "–" for v in values),
               frozenset(i for i, v in enumerate(values) if v == best))


class ManyPane(QFrame):
    """`show_sides`: up to six sessions, the earlier first."""

    closed = Signal()
    report_asked = Signal(list)
    """ids of all"""
    session_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        self._sides: Sequence[Side] = ()
        self._title = Label("", "title", weight=600)
        report = button(tr("Report…"), "file", self._ask_report)
        close = tool_button("x", tr("Close the comparison"), self.closed.emit, quiet=True, small=False)
        head = row(self._title, report, close, gap=8, margins=(16, 8, 8, 10))
        head.setStretch(0, 1)
        self.metric_box = QComboBox()
        self.metric_box.setAccessibleName(tr("Figure"))
        for key, words in (("generation", tr("Generation, t/s")), ("prompt", tr("Prompt, t/s")),
                           ("first", tr("First token, s"))):
            self.metric_box.addItem(words, key)
        self.metric_box.activated.connect(self._draw)
        self.chart = TrendChart()
        self.chart.opened.connect(self.session_wanted)
        self.chart.setMinimumHeight(theme().px(200))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(4)
        holder = QWidget()
        holder.setLayout(column(self._grid, margins=(16, 10, 16, 12)))
        note = Label(tr("Bold is the best of a line. The requests were not the same, so this is a hint. A box holds "
                        "the middle half of a session’s requests."), "note", "text2", wrap=True)
        below = QWidget()
        below.setLayout(column(row(self.metric_box, None), note, gap=6, margins=(16, 10, 16, 4)))
        inner = QWidget()
        inner.setLayout(column(holder, rule(), below, self.chart, None, gap=0))
        whole = column(head, rule(), scrolling(inner, sideways=True), gap=0)
        whole.setStretch(2, 1)
        self.setLayout(whole)

    def show_sides(self, sides: Sequence[Side]) -> None:
        """All anew."""
        self._sides = sides
        self._title.setText(tr("{count} sessions side by side", count=len(sides)))
        empty_layout(self._grid)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for i, side in enumerate(sides):
            self._grid.addWidget(Badge(i + 1), 0, i + 1, right)
            when = Label(when_words(side.detail.row.start)[5:], "note", "text2", elide="end")
            when.setToolTip(duration_words(duration_s(side.detail.row)))
            self._grid.addWidget(when, 1, i + 1, right)
            self._grid.setColumnStretch(i + 1, 3)
        self._grid.setColumnStretch(0, 2)
        for y, line in enumerate(rows_of(sides), start=2):
            self._fill(y, line, right)
        self._draw()

    def _fill(self, y: int, line: Row, right: Qt.AlignmentFlag) -> None:
        if not line.texts:
            label = Label(line.label, "note", "text2")
            label.setContentsMargins(0, 8, 0, 0)
            self._grid.addWidget(label, y, 0, 1, len(self._sides) + 1)
            return
        self._grid.addWidget(Label(line.label, elide="middle"), y, 0)
        for x, text in enumerate(line.texts):
            cell = Label(text, elide="middle", weight=600 if x in line.best else 400)
            cell.setAlignment(right)
            self._grid.addWidget(cell, y, x + 1)

    def _draw(self, *_: object) -> None:
        key = str(self.metric_box.currentData())
        boxes = []
        for i, side in enumerate(self._sides, start=1):
            box = Box.of(side.detail.row.id, letter(i), np.asarray(speeds(side.detail.requests)[key], float))
            if box is not None:
                boxes.append(box)
        self.chart.show_boxes(boxes)

    def _ask_report(self) -> None:
        self.report_asked.emit([s.detail.row.id for s in self._sides])
