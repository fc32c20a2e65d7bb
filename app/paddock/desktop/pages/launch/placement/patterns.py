"""The list of patterns in the order in which llama.cpp tries them, and what each one does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QWidget

from paddock.desktop.pages.launch.placement import edits, words
from paddock.desktop.pages.launch.placement.builder import PatternBuilder
from paddock.desktop.pages.launch.placement.pins import Pins
from paddock.desktop.pages.launch.placement.tables import CellText, DenseTable
from paddock.desktop.parts.basic import Label, button, column, panel, row, rule, tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.placement_map import Pattern, PlacementMap
from paddock.units import gib_text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class PatternsPane(QWidget):
    """`chosen(number or 0)`; `flagChosen(flag)`: one that is no -ot is to be edited.

    Alt+Up, Alt+Down, Delete and F2 are earlier, later, out and edit. Every edit goes to the desk.
    """

    chosen = Signal(int)
    flagChosen = Signal(str)  # noqa: N815  (named as Qt names signals)

    def __init__(self, desk: Desk, tried: Callable[[str, int | None], Pattern | None]) -> None:
        super().__init__()
        self._desk = desk
        self._found = PlacementMap()
        self.number: int | None = None
        self.add = button(tr("Add"), "plus", self._new, small=True, name=tr("Write a new pattern"))
        self.automatic = button(tr("Auto placement"), "wand-sparkles", small=True)
        self.pins = Pins(self)
        self.up = tool_button("arrow-up", tr("Earlier (Alt+Up)"), lambda: self._move(-1), quiet=False)
        self.down = tool_button("arrow-down", tr("Later (Alt+Down)"), lambda: self._move(1), quiet=False)
        self.out = tool_button("trash-2", tr("Take this pattern out (Delete)"), self._remove, quiet=False)
        self.table = DenseTable(
            tr("Patterns, the first match wins"),
            ["#", tr("Pattern, first match wins"), tr("To"), tr("Tensors"), "GiB", tr("What it does")],
            ["88", None, "CUDA0", "8888", "888.8", tr("matches nothing: no shared experts there") + "MM"],
            right=frozenset((3, 4)), mono=frozenset((1,)), striped=False)
        self.table.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.table.selectionModel().selectionChanged.connect(self._selected)
        self.table.doubleClicked.connect(self._edit)
        self.table.activated.connect(self._edit)
        self._none = Label(tr("No pattern: layers lie where -ngl and -ts put them. A pattern sends the tensors that it "
                              "finds elsewhere; write one below."), "note", "text2", wrap=True)
        none = QWidget()
        none.setLayout(column(self._none, None, margins=(16, 10, 16, 8)))
        self._stack = QStackedWidget()
        self._stack.addWidget(self.table)
        self._stack.addWidget(none)
        self.builder = PatternBuilder(tried)
        self.builder.written.connect(self._written)
        title = Label(tr("Patterns"), weight=600)
        flag = Label("-ot", "mono", "text2")
        head = row(title, flag, None, self.add, self.automatic, self.pins.button, self.up, self.down, self.out, gap=8,
                   margins=(16, 5, 16, 5))
        self._stack.setMinimumHeight(theme().px(96))
        box = column(panel("base", head), self._stack, rule(), self.builder, gap=0)
        box.setStretch(1, 1)
        self.setLayout(box)
        for keys, act in (("Alt+Up", lambda: self._move(-1)), ("Alt+Down", lambda: self._move(1)),
                          ("Delete", self._remove), ("F2", self._edit)):
            QShortcut(QKeySequence(keys), self.table, act, context=Qt.ShortcutContext.WidgetShortcut)

    def show_map(self, found: PlacementMap) -> None:
        """List the patterns anew; the chosen one stays chosen by its number."""
        self._found = found
        keep = self.number if self.number is not None and self.number <= len(found.patterns) else None
        keep = keep or None
        self.table.selectionModel().blockSignals(True)
        self.table.rows.set_rows([self._row(p) for p in found.patterns])
        self.table.selectionModel().blockSignals(False)
        self._stack.setCurrentIndex(0 if found.patterns else 1)
        self.builder.show_map(found)
        self.choose(keep)

    def _row(self, pattern: Pattern) -> tuple[CellText, ...]:
        sign, role, said = words.effect_words(pattern, self._found)
        quiet = "text" if pattern.moved else "text2"
        known = pattern.problem is None
        return (CellText(str(pattern.number), role="text2"), CellText(words.pattern_text(pattern), role=quiet),
                CellText(words.target_word(pattern), role=quiet),
                CellText(str(pattern.matched) if known else "–", role=quiet),
                CellText(gib_text(pattern.moved_bytes, 1) if known else "–", role=quiet),
                CellText(said, (sign, role)))

    def pattern(self) -> Pattern | None:
        """The chosen one."""
        return next((p for p in self._found.patterns if p.number == self.number), None)

    def choose(self, number: int | None) -> None:
        """Choose this pattern; None for none. Tells."""
        self.number = number
        selection = self.table.selectionModel()
        selection.blockSignals(True)
        if number is None:
            selection.clear()
        else:
            flags = QItemSelectionModel.SelectionFlag
            selection.setCurrentIndex(self.table.rows.index(number - 1, 0), flags.ClearAndSelect | flags.Rows)
        selection.blockSignals(False)
        self.table.viewport().update()
        self._tell()

    @Slot()
    def _selected(self) -> None:
        chosen = self.table.selectionModel().selectedRows()
        self.number = chosen[0].row() + 1 if chosen else None
        self._tell()

    def _tell(self) -> None:
        count, number = len(self._found.patterns), self.number
        self.up.setEnabled(number is not None and number > 1)
        self.down.setEnabled(number is not None and number < count)
        self.out.setEnabled(number is not None)
        self.builder.show_pattern(self.pattern())
        self.chosen.emit(number or 0)

    @Slot()
    def _edit(self) -> None:
        """Go to where the chosen pattern is written: the expression, or the flag's own control."""
        pattern = self.pattern()
        if pattern is None or pattern.flag == "-ot":
            self.builder.line.setFocus()
            self.builder.line.selectAll()
        else:
            self.flagChosen.emit(pattern.flag)

    @Slot()
    def _new(self) -> None:
        """Leave the chosen pattern alone and write another."""
        self.choose(None)
        self.builder.line.setFocus()
        self.builder.line.selectAll()

    @Slot(str)
    def _written(self, text: str) -> None:
        plan, chosen = self._desk.plan, self.pattern()
        if chosen is not None and chosen.flag == "-ot":
            self._desk.edit(edits.replaced(plan, chosen.number, text))
        else:
            self.number = len(edits.items(plan)) + 1
            self._desk.edit(edits.added(plan, text))

    def _move(self, by: int) -> None:
        if self.number is None or not 1 <= self.number + by <= len(self._found.patterns):
            return
        number = self.number
        self.number = number + by
        self._desk.edit(edits.moved(self._desk.plan, number, by))

    @Slot()
    def _remove(self) -> None:
        if self.number is None:
            return
        number = self.number
        left = len(self._found.patterns) - 1
        self.number = min(number, left) or None
        self._desk.edit(edits.removed(self._desk.plan, number))
