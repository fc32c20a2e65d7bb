"""All sessions at once: trends over weeks and engines, distributions, and one figure over another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QLocale, Signal, Slot
from PySide6.QtGui import QDoubleValidator
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QLineEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from paddock.desktop import bridge
from paddock.desktop.pages.sessions.charts import Box, Histogram, Pairs, TrendChart, correlation_words, summary
from paddock.desktop.pages.sessions.rows import local
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, row, rule, tool_button
from paddock.desktop.parts.blocks import EmptyState, Segments
from paddock.desktop.parts.picture import ask_picture
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.units import GIB, percent_text
from paddock.work import trends

if TYPE_CHECKING:
    from paddock.desktop.plots.scale import Floats
    from paddock.desktop.state import Desk

_ANY = ""


def metric_words() -> dict[str, tuple[str, float]]:
    """Metric → its name with the unit, and the factor to that unit."""
    return {
        "generation_per_s": (tr("Generation, t/s"), 1.0), "prompt_per_s": (tr("Prompt, t/s"), 1.0),
        "ttft_s": (tr("First token, s"), 1.0), "total_s": (tr("Whole request, s"), 1.0),
        "acceptance": (tr("Draft acceptance, %"), 100.0), "context_used": (tr("Context used, tokens"), 1.0),
        "prompt_tokens": (tr("Prompt, tokens"), 1.0), "generated_tokens": (tr("Generated, tokens"), 1.0),
        "gap_p95_s": (tr("Gap between tokens, p95, ms"), 1000.0),
        "memory_bytes": (tr("Memory of the server, GiB"), 1 / GIB),
        "t_start": (tr("Time in the session, s"), 1.0)}


class TrendPane(QFrame):
    """`refresh` reads the database off the GUI thread; everything else is drawn from what was read."""

    closed = Signal()
    session_wanted = Signal(int)

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        self._desk = desk
        self._job: bridge.Job | None = None
        self._all: trends.Table | None = None
        self._build_choices()
        self.trend, self.histogram, self.pairs = TrendChart(), Histogram(), Pairs()
        self.trend.opened.connect(self.session_wanted)
        self.charts = QStackedWidget()
        for chart in (self.trend, self.histogram, self.pairs):
            self.charts.addWidget(chart)
        self.words = Label("", wrap=True)
        self.limit_words = Label("", role="text2", wrap=True)
        self._changes = QVBoxLayout()
        self._changes.setSpacing(4)
        self.empty = EmptyState("activity", tr("No answered request yet"),
                                tr("Launch a model and ask it something: its figures then appear here over time."), [])
        holder = QWidget()
        holder.setLayout(column(self.words, self.limit_words, self._changes, None, gap=6, margins=(16, 8, 16, 12)))
        scroll = scrolling(holder, sideways=True)
        scroll.setMinimumHeight(theme().px(96))
        self._filled = QWidget()
        filled = column(self._choices, self.charts, rule(), scroll, gap=0)
        filled.setStretch(1, 3)
        filled.setStretch(3, 1)
        self._filled.setLayout(filled)
        self.pages = QStackedWidget()
        self.pages.addWidget(self._filled)
        self.pages.addWidget(self.empty)
        self.setLayout(column(self.pages, gap=0))

    def _build_choices(self) -> None:
        self.way = Segments([("trend", tr("Over time")), ("spread", tr("Spread")), ("pairs", tr("Scatter"))],
                            tr("Picture"))
        self.way.chosen.connect(self.show_choice)
        self.model, self.profile, self.figure, self.over = (QComboBox() for _ in range(4))
        for box, name in ((self.model, tr("Model")), (self.profile, tr("Profile")), (self.figure, tr("Figure")),
                          (self.over, tr("Over"))):
            box.setAccessibleName(name)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(14)
        for key, (words, _factor) in metric_words().items():
            self.figure.addItem(words, key)
            self.over.addItem(words, key)
        self.over.setCurrentIndex(self.over.findData("context_used"))
        self.limit = QLineEdit()
        self.limit.setPlaceholderText(tr("line at"))
        self.limit.setAccessibleName(tr("A line at this value"))
        self.limit.setFixedWidth(theme().px(80))
        validator = QDoubleValidator(0.0, 1e12, 3, self.limit)
        validator.setLocale(QLocale.c())
        self.limit.setValidator(validator)
        self.limit.textChanged.connect(self.show_choice)
        self.model.activated.connect(self._model_chosen)
        for box in (self.profile, self.figure, self.over):
            box.activated.connect(self.show_choice)
        save = tool_button("download", tr("Save the picture…"), self._ask_picture, quiet=False, small=False)
        first = row(self.way, self.model, self.profile, None, save, button(tr("Close"), None, self.closed.emit), gap=8)
        self._over_word = Label(tr("over"), "note", "text2")
        second = row(self.figure, self._over_word, self.over, self.limit, None, gap=8)
        self._choices = QWidget()
        self._choices.setLayout(column(first, second, gap=8, margins=(16, 10, 12, 8)))

    # -- what is read ----------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read all requests again."""
        if self._job is not None:
            self._job.cancel()
        workspace = self._desk.workspace
        self._job = bridge.run(lambda: trends.table(workspace.database), self.show_table, self._desk.failed.emit, self,
                               name="trends")

    def show_table(self, found: trends.Table) -> None:
        """All sessions, as read."""
        self._all = found
        self.pages.setCurrentWidget(self._filled if len(found.of) else self.empty)
        self._fill(self.model, tr("All models"), [s.model for s in found.sittings])
        self._model_chosen()

    def _fill(self, box: QComboBox, every: str, names: list[str | None]) -> None:
        kept = box.currentData()
        box.clear()
        box.addItem(every, _ANY)
        for name in dict.fromkeys(n for n in reversed(names) if n):
            box.addItem(name, name)
        box.setCurrentIndex(max(0, box.findData(kept)))

    @Slot()
    def _model_chosen(self) -> None:
        if self._all is not None:
            model = self.model.currentData()
            self._fill(self.profile, tr("All profiles"),
                       [s.profile for s in self._all.sittings if model in (_ANY, s.model)])
            self.show_choice()

    # -- what is drawn ---------------------------------------------------------------------------------------------

    @Slot()
    def show_choice(self, *_what: object) -> None:
        """Draw what is chosen."""
        if self._all is None:
            return
        way = self.way.key()
        for part in (self._over_word, self.over):
            part.setVisible(way == "pairs")
        chosen = self._chosen(self._all)
        metric = str(self.figure.currentData())
        factor = metric_words()[metric][1]
        values = chosen.values(metric) * factor
        limit = _number(self.limit.text())
        for chart in (self.trend, self.histogram, self.pairs):
            chart.limit = limit
        self.charts.setCurrentWidget({"trend": self.trend, "spread": self.histogram}.get(way, self.pairs))
        changes = trends.changes(chosen)
        if way == "trend":
            self.trend.show_boxes(_boxes(chosen, metric, factor, changes))
            self.words.setText(summary(values))
        elif way == "spread":
            self.histogram.show_values(values)
            self.words.setText(summary(values))
        else:
            over = str(self.over.currentData())
            x, y = chosen.columns[over] * metric_words()[over][1], chosen.columns[metric] * factor
            self.pairs.show_pairs(x, y)
            known = np.isfinite(x) & np.isfinite(y)
            self.words.setText(correlation_words(x[known], y[known]))
        self._say_limit(values, limit)
        self._say_changes(changes)

    def _chosen(self, found: trends.Table) -> trends.Table:
        model, profile = self.model.currentData(), self.profile.currentData()
        sittings = tuple(s for s in found.sittings if model in (_ANY, s.model) and profile in (_ANY, s.profile))
        mask = np.isin(found.of, [s.id for s in sittings])
        return trends.Table(sittings, found.of[mask], {k: v[mask] for k, v in found.columns.items()})

    def _say_limit(self, values: Floats, limit: float) -> None:
        told = math.isfinite(limit) and len(values) > 0
        self.limit_words.setVisible(told)
        if told:
            below = float(np.mean(values < limit))
            self.limit_words.setText(tr("{below} of the requests lie below the line, {above} on it or above.",
                                        below=percent_text(below, 1), above=percent_text(1 - below, 1)))

    def _say_changes(self, changes: list[trends.Change]) -> None:
        empty_layout(self._changes)
        for change in changes:
            icon = IconLabel("triangle-alert" if change.worse else "circle-check", 14, "warn" if change.worse else "ok")
            line = row(icon, Label(str(trends.change_text(change)), wrap=True), gap=8)
            line.setStretch(1, 1)
            self._changes.addLayout(line)

    # -- acts ------------------------------------------------------------------------------------------------------

    def _ask_picture(self) -> None:
        ask_picture(self, self.charts, "paddock-trend", self._desk.failed.emit)


def _boxes(chosen: trends.Table, metric: str, factor: float, changes: list[trends.Change]) -> list[Box]:
    """One a session that tells the metric; the first session of another engine carries its name."""
    worse = {c.session_id for c in changes if c.worse}
    out: list[Box] = []
    engine: str | None = None
    for sitting in chosen.sittings:
        moment = local(sitting.start)
        label = moment.strftime("%m-%d %H:%M") if moment else sitting.start[5:16]
        mark = sitting.engine if engine is not None and sitting.engine != engine else ""
        if mark and sitting.id in worse:
            mark = tr("{engine}: slower or hungrier", engine=mark)
        box = Box.of(sitting.id, label, chosen.values(metric, [sitting.id]) * factor, mark)
        if box is not None:
            out.append(box)
            engine = sitting.engine
    return out


def _number(text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return math.nan
