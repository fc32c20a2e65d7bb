"""The Placement view: strip, map, patterns, tensors."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.launch.placement import edits, words
from paddock.desktop.pages.launch.placement.legend import MapLegend
from paddock.desktop.pages.launch.placement.patterns import PatternsPane
from paddock.desktop.pages.launch.placement.picture import MapPicture
from paddock.desktop.pages.launch.placement.strip import PlacementStrip
from paddock.desktop.pages.launch.placement.tables import CellText, DenseTable
from paddock.desktop.pages.launch.placement.tensors import TensorsPane
from paddock.desktop.parts.basic import Label, button, column, panel, row, rule
from paddock.desktop.parts.blocks import Segments
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.placement_map import HOST_NAME, Pattern, PlacementMap, placement_map
from paddock.launch.model import Plan
from paddock.work.previewing import budgets_of, given_of

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

NARROW, STRIP = 900, 1060
"""Below these widths tensors are a tab, and the note about --fit goes under the strip."""


def auto_placement() -> Callable[..., Any] | None:
    """`fit.autoplacement.auto_place`, or None where this build has none."""
    try:
        found = importlib.import_module("paddock.fit.autoplacement")
    except ModuleNotFoundError:
        return None
    function: Callable[..., Any] | None = getattr(found, "auto_place", None)
    return function


class PlacementView(QWidget):
    """Reads the desk's preview, edits its plan."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._stale = True
        self._why: tuple[Plan, str] | None = None
        """Why auto placement chose this plan: said until the plan changes."""
        self._answers: dict[tuple[str, int | None], Pattern | None] = {}
        self.found = PlacementMap()
        self.strip = PlacementStrip(desk)
        self.picture = MapPicture()
        self.legend = MapLegend()
        self.figure = Label("", "note", "text2", elide="end")
        self.twin = button(tr("As table"), "table-2", self._toggle_twin, small=True, quiet=True)
        self.twin.setCheckable(True)
        self.table = DenseTable(
            tr("Where each layer lives, as a table"),
            [tr("Layer"), tr("Device"), tr("Tensors"), tr("Experts, MiB"), tr("FFN, MiB"), tr("Attention, MiB"),
             tr("Other, MiB"), tr("KV, MiB"), ""],
            [tr("Embedding"), "Vulkan0", "8888", "88,888", "88,888", "88,888", "88,888", "88,888", None],
            right=frozenset(range(2, 8)))
        self.table.setMinimumHeight(theme().px(180))
        self.problem = Label("", "note", "text2", wrap=True)
        self.patterns = PatternsPane(desk, self._tried)
        self.tensors = TensorsPane()
        self.tabs = Segments((("patterns", tr("Patterns")), ("tensors", tr("Tensors"))), tr("What to show"))
        self._build()
        # A least size of its own: that of the wide arrangement would keep the window from ever becoming narrow.
        self.setMinimumSize(theme().px(420), theme().px(160))
        self.picture.pointed.connect(self._pointed)
        self.picture.split.connect(self._split)
        self.patterns.chosen.connect(self._pattern_chosen)
        self.patterns.automatic.clicked.connect(lambda _checked=False: self._place_automatically())
        for widget in (self.patterns.automatic, self.patterns.pins.button):
            widget.setVisible(auto_placement() is not None)
        self.patterns.flagChosen.connect(self.strip.focus_flag)
        self.tabs.chosen.connect(self._arrange)
        desk.planChanged.connect(self._plan_changed)
        desk.previewChanged.connect(self.refresh)
        self._arrange()

    # -- building ----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        title = Label(tr("Where each layer lives"), weight=600)
        head = row(title, None, self.legend, self.twin, gap=8, margins=(16, 5, 8, 3))
        self._views = QStackedWidget()
        self._views.setSizePolicy(self.picture.sizePolicy())
        for view in (self.picture, self.table, self._framed(self.problem)):
            self._views.addWidget(view)
        line = row(self.figure, margins=(16, 2, 16, 6))
        self._tab_line = QWidget()
        self._tab_line.setLayout(row(self.tabs, None, margins=(16, 6, 16, 2)))
        self._upright = rule(vertical=True)
        lower = row(self.patterns, self._upright, self.tensors, gap=0)
        lower.setStretch(0, 59)
        lower.setStretch(2, 41)
        inner = panel("base")
        box = QVBoxLayout(inner)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        for part in (head, self._views, line, rule(), self._tab_line, lower):
            if isinstance(part, QWidget):
                box.addWidget(part)
            else:
                box.addLayout(part)
        box.setStretch(5, 1)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(inner)
        whole = column(self.strip, rule(), self.area, gap=0)
        whole.setStretch(2, 1)
        self.setLayout(whole)

    @staticmethod
    def _framed(label: Label) -> QWidget:
        made = QWidget()
        made.setLayout(column(label, margins=(16, 8, 16, 8)))
        return made

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        narrow = self.width() < theme().px(NARROW)
        self.strip.set_narrow(self.width() < theme().px(STRIP))
        self._tab_line.setVisible(narrow)
        self._upright.setVisible(not narrow)
        self.patterns.setVisible(not narrow or self.tabs.key() == "patterns")
        self.tensors.setVisible(not narrow or self.tabs.key() == "tensors")
        self._fit_views()

    def _fit_views(self) -> None:
        heights = (self.picture.height(), theme().px(200), theme().px(56))
        self._views.setFixedHeight(heights[self._views.currentIndex()])

    # -- showing the plan ----------------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.refresh()

    @Slot()
    def _plan_changed(self) -> None:
        self.strip.sync()

    @Slot()
    def refresh(self) -> None:
        """The map of the desk's preview; a hidden view waits until it is seen."""
        self._stale = not self.isVisible()
        if self._stale:
            return
        preview = self._desk.preview
        if preview is None or preview.model is None:
            why = tr("The map comes once a model is chosen and read.")
            if preview is not None and preview.model_error is not None:
                why = str(preview.model_error.what)
            self._show(PlacementMap(), why, {})
            return
        found = placement_map(preview.model, preview.plan, budgets_of(preview.machine))
        names = {d.name: words.short_name(d.description) for d in preview.machine.devices}
        self._show(found, str(found.problem) if found.problem is not None else "", {**names, HOST_NAME: tr("RAM")},
                   preview.plan.find("tensor-split") is not None)

    def _show(self, found: PlacementMap, problem: str, descriptions: dict[str, str], explicit: bool = False) -> None:
        self.found = found
        self._answers.clear()
        self.problem.setText(problem)
        self.picture.show_map(found, descriptions, explicit)
        self.legend.show_map(found)
        self.strip.show_map(found)
        self.patterns.show_map(found)
        self.patterns.setEnabled(bool(found.rows) or bool(found.patterns))
        self._toggle_twin()
        self._pointed(*(self.picture.current() or (-1, 0)))

    @staticmethod
    def _twin_rows(found: PlacementMap) -> list[tuple[CellText, ...]]:
        out = []
        for at in found.columns if found.rows else ():
            for made in found.rows:
                cell = found.cell(made.name, at)
                if cell.total:
                    sizes = [words.mib_text(cell.of(k)) if cell.of(k) else "–"
                             for k in ("experts", "ffn", "attention", "other", "kv")]
                    texts = [words.column_word(found, at), words.row_word(made.name), str(cell.tensors), *sizes, ""]
                    out.append(tuple(CellText(t) for t in texts))
        return out

    @Slot()
    def _toggle_twin(self) -> None:
        no_map = not self.found.rows
        self.twin.setEnabled(not no_map)
        self._views.setCurrentIndex(2 if no_map else int(self.twin.isChecked()))
        if self.twin.isChecked():
            self.table.rows.set_rows(self._twin_rows(self.found))
        self._fit_views()

    @Slot(int, int)
    def _pointed(self, at: int, column_at: int) -> None:
        if at < 0 or at >= len(self.found.rows):
            text = tr("Point at a cell, or walk through them with the arrow keys.") if self.found.rows else ""
            if self._why is not None and self._why[0] == self._desk.plan:
                text = self._why[1]
        else:
            text = words.cell_words(self.found, self.found.rows[at].name, column_at)
        self.figure.setText(text)
        if self.picture.hasFocus():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.picture, text))

    @Slot(int)
    def _pattern_chosen(self, number: int) -> None:
        self.picture.choose_pattern(number or None)
        self.tensors.show_pattern(self.patterns.pattern(), self.found.reads.get(HOST_NAME))

    # -- edits -----------------------------------------------------------------------------------------------------

    @Slot(object)
    def _split(self, shares: tuple[int, ...]) -> None:
        self._desk.set("tensor-split", ",".join(str(n) for n in shares))

    def _tried(self, text: str, number: int | None) -> Pattern | None:
        """What this pattern would do, in place of `number` or as the last. Asked on every keystroke, so remembered."""
        own = next((p for p in self.found.patterns if p.number == number), None)
        if own is not None and text == f"{own.expression}={own.target}":
            return own
        if (text, number) not in self._answers:
            self._answers[text, number] = self._ask(text, number)
        return self._answers[text, number]

    def _ask(self, text: str, number: int | None) -> Pattern | None:
        preview = self._desk.preview
        if preview is None or preview.model is None or not self.found.rows:
            return None
        plan = preview.plan
        count = len(edits.items(plan))
        if number is not None and number <= count:
            plan = edits.replaced(plan, number, text)
        else:
            plan, number = edits.added(plan, text), count + 1
        patterns = placement_map(preview.model, plan, budgets_of(preview.machine)).patterns
        return patterns[number - 1] if number <= len(patterns) else None

    def _place_automatically(self) -> None:
        function, preview = auto_placement(), self._desk.preview
        if function is None or preview is None or preview.model is None:
            return
        plan, given = self._desk.plan, given_of(self._desk.workspace, preview)
        model, budgets = preview.model, budgets_of(preview.machine)
        pinned = self.patterns.pins.options()
        self.patterns.automatic.setEnabled(False)
        bridge.run(lambda: function(model, plan, budgets, pinned=pinned, **given),
                   lambda placed: self._placed(plan, placed), self._not_placed, self, name="auto placement")

    def _placed(self, before: Plan, placed: Any) -> None:
        self.patterns.automatic.setEnabled(True)
        if self._desk.plan == before:
            self.patterns.number = None
            why = placed.why if isinstance(placed.why, (tuple, list)) else (placed.why,)
            self._why = placed.plan, " ".join(str(w) for w in why)
            self._desk.edit(placed.plan)
            self._pointed(-1, 0)

    def _not_placed(self, error: Any) -> None:
        self.patterns.automatic.setEnabled(True)
        self._desk.failed.emit(error)
