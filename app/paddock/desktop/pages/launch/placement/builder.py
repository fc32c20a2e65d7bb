"""Layers, tensors, to: writes the expression of a pattern; the expression can always be written by hand."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy, QWidget

from paddock.desktop.pages.launch.fields import spin
from paddock.desktop.pages.launch.fields_more import mark_error
from paddock.desktop.pages.launch.placement.edits import KINDS, expression_for, problem_of
from paddock.desktop.parts.basic import IconLabel, Label, button, column, row
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.placement_map import Pattern, PlacementMap
from paddock.units import bytes_text


def _kind_word(kind: str) -> str:
    return {"experts": tr("Experts"), "ffn": tr("FFN"), "attention": tr("Attention"), "all": tr("All")}[kind]


class PatternBuilder(QWidget):
    """`written(text)`: the person is done with "expression=TARGET". `tried`: asks what such a text would do."""

    written = Signal(str)

    def __init__(self, tried: Callable[[str, int | None], Pattern | None]) -> None:
        super().__init__()
        self._tried = tried
        self._last = 0
        self._number: int | None = None
        self._targets: tuple[str, ...] = ("CPU",)
        self._head = Label("", "note", weight=600)
        self.low = spin(tr("From layer"), 0, 0)
        self.high = spin(tr("To layer"), 0, 0)
        self.kind = self._box(tr("Tensors"), [(_kind_word(k), k) for k in KINDS], 116)
        self.target = self._box(tr("To device"), [("CPU", "CPU")], 98)
        self.line = QLineEdit()
        self.line.setAccessibleName(tr("Expression = device (-ot), Enter sets it"))
        self.line.setFont(theme().font("mono"))
        self.line.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.line.setMinimumWidth(theme().px(120))
        self.line.setPlaceholderText(r"blk\.[0-9]\.ffn_.*exps=CPU")
        self.apply = button(tr("Set"), "check", self._done, name=tr("Set this pattern"))
        self._sign = IconLabel("circle-x", 14, "bad")
        self.note = Label("", "note", "text2", elide="end")
        for widget in (self.low, self.high):
            widget.setFixedWidth(theme().px(58))
            widget.valueChanged.connect(self._build)
        self.kind.activated.connect(self._build)
        self.target.activated.connect(self._build)
        self.line.textChanged.connect(self._judge)
        self.line.returnPressed.connect(self._done)
        words = [Label(w, "note", "text2") for w in (tr("layers"), tr("to"), tr("tensors"), tr("to"))]
        first = row(self._head, words[0], self.low, words[1], self.high, words[2], self.kind, words[3], self.target,
                    None, gap=8)
        second = row(self.line, self.apply, gap=8)
        second.setStretch(0, 1)
        third = row(self._sign, self.note, gap=6)
        third.setStretch(1, 1)
        third.addStrut(theme().px(16))
        self.setLayout(column(first, second, third, gap=4, margins=(16, 8, 16, 6)))
        self._judge()

    def _box(self, name: str, entries: list[tuple[str, str]], width: int) -> QComboBox:
        made = QComboBox()
        made.setAccessibleName(name)
        for text, key in entries:
            made.addItem(text, key)
        made.setFixedWidth(theme().px(width))
        return made

    # -- what is shown ---------------------------------------------------------------------------------------------

    def show_map(self, found: PlacementMap) -> None:
        """Layers and devices to choose among; the largest kind of weights comes first."""
        self._last = max(0, found.layers - 1)
        targets = ("CPU", *found.devices)
        with QSignalBlocker(self.low), QSignalBlocker(self.high), QSignalBlocker(self.target):
            fresh = self.high.maximum() == 0
            for widget in (self.low, self.high):
                widget.setRange(0, self._last)
            if fresh:
                self.high.setValue(self._last)
            if targets != self._targets:
                kept = self.target.currentData()
                self.target.clear()
                for name in targets:
                    self.target.addItem(name, name)
                self.target.setCurrentIndex(max(0, self.target.findData(kept)))
        self._targets = targets
        at = self.kind.findData("experts")
        item = self.kind.model().index(at, 0)
        self.kind.model().setData(item, None if found.has_experts else 0, int(Qt.ItemDataRole.UserRole) - 1)
        if not found.has_experts and self.kind.currentIndex() == at:
            self.kind.setCurrentIndex(self.kind.findData("ffn"))
        if not self.line.text():
            self._build()
        self._judge()

    def show_pattern(self, pattern: Pattern | None) -> None:
        """Edit this one; None: write a new one."""
        own = pattern is not None and pattern.flag == "-ot"
        number = pattern.number if pattern is not None and own else None
        changed = number != self._number
        self._number = number
        self._head.setText(str(number) if number is not None else tr("New"))
        self.apply.setText(tr("Set") if number is not None else tr("Add"))
        self.apply.setAccessibleName(tr("Set pattern {number}", number=number) if number is not None
                                     else tr("Add this pattern"))
        if pattern is not None and own and (changed or not self.line.hasFocus()):
            self.line.setText(f"{pattern.expression}={pattern.target}")
            self._recognise(pattern)
        self._judge()

    def _recognise(self, pattern: Pattern) -> None:
        """Put the controls at what this pattern takes, where that is one kind in neighbouring layers."""
        layers = sorted({t.column for t in pattern.taken})
        kinds = {t.kind for t in pattern.taken}
        at = self.target.findData(pattern.target)
        if at < 0 or not layers or layers != list(range(max(0, layers[0]), min(layers[-1], self._last) + 1)):
            return
        low, high = layers[0], layers[-1]
        kind = next(iter(kinds)) if len(kinds) == 1 else "all"
        if kind not in KINDS:
            return
        with QSignalBlocker(self.low), QSignalBlocker(self.high):
            self.low.setValue(low)
            self.high.setValue(high)
        self.kind.setCurrentIndex(self.kind.findData(kind))
        self.target.setCurrentIndex(at)

    # -- edits -----------------------------------------------------------------------------------------------------

    @Slot()
    def _build(self) -> None:
        low, high = self.low.value(), max(self.low.value(), self.high.value())
        expression = expression_for(low, high, self.kind.currentData(), self._last)
        self.line.setText(f"{expression}={self.target.currentData()}")

    def text(self) -> str:
        return self.line.text().strip()

    @Slot()
    def _judge(self) -> None:
        """Say what is wrong, or what it would do."""
        problem = problem_of(self.text(), self._targets) if self.text() else None
        mark_error(self.line, problem is not None)
        self.apply.setEnabled(bool(self.text()) and problem is None)
        self._sign.setVisible(problem is not None)
        self.note.look(role="bad" if problem is not None else "text2")
        self.note.setText(str(problem) if problem is not None else self._would())
        self.line.setAccessibleDescription(self.note.full_text())

    def _would(self) -> str:
        found = self._tried(self.text(), self._number) if self.text() else None
        if found is None:
            return ""
        if not found.matched:
            return tr("matches nothing")
        count = tr("takes {count} tensor", plural="takes {count} tensors", count=len(found.taken))
        late = sum(n for _, n in found.late)
        if late:
            count = tr("{tensors}, {late} go to earlier patterns", tensors=count, late=late)
        if not found.moved:
            return tr("{tensors}, but all are there already", tensors=count)
        return tr("{tensors}, moves {size}", tensors=count, size=bytes_text(found.moved_bytes))

    @Slot()
    def _done(self) -> None:
        if self.text() and problem_of(self.text(), self._targets) is None:
            self.written.emit(self.text())
