"""The editors of the rows, by kind: a switch, a choice, a number, a text, a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QTimer, Signal, Slot
from PySide6.QtGui import QStandardItem, QStandardItemModel, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QCheckBox, QComboBox, QFileDialog, QLineEdit, QWidget

from paddock.desktop.pages.launch.options.editing import is_on, put, said, switched, typed, value_of
from paddock.desktop.pages.launch.options.entries import Entry
from paddock.desktop.pages.launch.options.states import RowState
from paddock.desktop.parts.basic import Label, row, tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.catalogue import Kind
from paddock.paths import as_typed

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_WHILE_TYPING_MS = 400
"""A value is taken while it is typed, after this pause; at once on Enter and when the field is left."""


class Editor(QWidget):
    """`sync` shows a state without telling; edits go to the desk."""

    touched = Signal()
    """It needs another height or has something to say, though the plan is the same."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__()
        self.problem = ""
        """What is wrong with what was typed, where that cannot enter the plan."""
        self.desk = desk
        self.entry = entry

    def sync(self, state: RowState) -> None:
        """Show what the plan holds, and whether it can be edited."""
        raise NotImplementedError

    def stops(self) -> list[QWidget]:
        """The widgets that Tab visits, in order."""
        raise NotImplementedError

    def lines(self) -> int:
        """How many controls stand below each other."""
        return 1

    def _typed(self, *values: str) -> None:
        before = said(self.entry, value_of(self.entry, self.desk.plan))
        if " ".join(values) != before:
            self.desk.edit(typed(self.entry, self.desk.plan, self.desk.saved, *values))


def mark_error(widget: QWidget, on: bool) -> None:
    """The red border."""
    if bool(widget.property("error")) != on:
        widget.setProperty("error", on)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def _is_error(state: RowState) -> bool:
    return state.issue is not None and state.issue.severity == "error"


class _Box(QComboBox):
    """The wheel scrolls the list, not the value."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class SwitchEditor(Editor):
    """A box with "On" or "Off" beside it."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        self.box = QCheckBox()
        self.box.setAccessibleName(entry.label)
        self.box.clicked.connect(self._clicked)
        self.setLayout(row(self.box, None))

    def sync(self, state: RowState) -> None:
        on = is_on(self.entry, state.value)
        shown = default_on(self.entry) if on is None else on
        with QSignalBlocker(self.box):
            self.box.setChecked(bool(shown))
        self.box.setText(tr("On") if shown else tr("Off"))
        self.box.setEnabled(not state.lock and not state.kept)

    @Slot()
    def _clicked(self) -> None:
        self.desk.edit(switched(self.entry, self.desk.plan, self.desk.saved, self.box.isChecked()))

    def stops(self) -> list[QWidget]:
        return [self.box]


def default_on(entry: Entry) -> bool | None:
    """What a switch is unless it is set; None where the engine decides."""
    return {"on": True, "off": False, "enabled": True, "disabled": False, "true": True, "false": False}.get(
        entry.default or "")


class DecidedEditor(Editor):
    """A switch that the engine decides about unless it is set: three choices."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        self.box = _Box()
        self.box.setAccessibleName(entry.label)
        for text, value in ((tr("engine decides"), None), (tr("on"), True), (tr("off"), False)):
            self.box.addItem(text, value)
        self.box.activated.connect(self._chosen)
        self.setLayout(row(self.box))

    def sync(self, state: RowState) -> None:
        with QSignalBlocker(self.box):
            self.box.setCurrentIndex({None: 0, True: 1, False: 2}[is_on(self.entry, state.value)])
        self.box.setEnabled(not state.lock and not state.kept)
        mark_error(self.box, _is_error(state))

    @Slot(int)
    def _chosen(self, index: int) -> None:
        plan = self.desk.plan
        if index == 0:
            self.desk.edit(put(self.entry, plan, ()))
        else:
            self.desk.edit(switched(self.entry, plan, self.desk.saved, index == 1))

    def stops(self) -> list[QWidget]:
        return [self.box]


class ChoiceEditor(Editor):
    """A box of values; any other value of the plan is shown too. `reasons`: values that can't be chosen, and why."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        self.box = _Box()
        self.box.setAccessibleName(entry.label)
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.box.setMinimumContentsLength(4)
        self.box.setMaxVisibleItems(16)
        self.free = entry.variable is not None
        if self.free:
            self.box.setEditable(True)
            self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            line = QLineEdit()
            line.setPlaceholderText(tr("not set"))
            self.box.setLineEdit(line)
            line.editingFinished.connect(self._entered)
        self.box.activated.connect(self._chosen)
        self.setLayout(row(self.box))
        self.reasons: dict[str, str] = {}
        self._filled: tuple[str, ...] | None = None

    def sync(self, state: RowState) -> None:
        value = said(self.entry, state.value)
        wanted = list(self.entry.choices)
        if value and value not in wanted:
            wanted.append(value)
        default = self.entry.default
        first = () if default in wanted and not self.free else ("",)
        with QSignalBlocker(self.box):
            self._fill((*first, *wanted))
            shown = value or (default if default in wanted and not self.free else "")
            self.box.setCurrentIndex(max(0, self.box.findData(shown)))
            if self.free:
                self.box.setCurrentText(value)
        self.box.setEnabled(not state.lock and not state.kept)
        mark_error(self.box, _is_error(state))

    def _fill(self, values: tuple[str, ...]) -> None:
        if values != self._filled:
            self._filled = values
            self.box.clear()
            for value in values:
                self.box.addItem(value or tr("not set"), value)
        model = self.box.model()
        if isinstance(model, QStandardItemModel):
            for index in range(self.box.count()):
                reason = self.reasons.get(str(self.box.itemData(index)), "")
                item: QStandardItem = model.item(index)
                item.setEnabled(not reason)
                item.setToolTip(reason)

    @Slot(int)
    def _chosen(self, index: int) -> None:
        value = str(self.box.itemData(index))
        if self.free:
            self.box.setCurrentText(value)
        self._typed(value)

    @Slot()
    def _entered(self) -> None:
        self._typed(self.box.currentText() if self.box.currentText() != tr("not set") else "")

    def stops(self) -> list[QWidget]:
        return [self.box]


class NumberBox(QAbstractSpinBox):
    """A number or a word, or nothing: what is typed stays as it is, so that an error can be shown beside it."""

    def __init__(self, entry: Entry) -> None:
        super().__init__()
        self._entry = entry
        self.setAccessibleName(entry.label)
        self.lineEdit().setTextMargins(6, 0, 0, 0)
        self.setKeyboardTracking(True)

    def _number(self) -> float | None:
        try:
            return float(self.text() or self._entry.default or "")
        except ValueError:
            return None

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        flags = QAbstractSpinBox.StepEnabledFlag
        number, option = self._number(), self._entry.option
        found = flags.StepNone
        if number is None or option is None or option.high is None or number < option.high:
            found |= flags.StepUpEnabled
        if number is None or option is None or option.low is None or number > option.low:
            found |= flags.StepDownEnabled
        return found

    def stepBy(self, steps: int) -> None:
        number, option = self._number(), self._entry.option
        whole = self._entry.kind is not Kind.FLOAT
        low = option.low if option is not None else None
        high = option.high if option is not None else None
        if number is None:
            number = low if low is not None else 0.0
        number += steps * self._step(number, whole)
        number = max(number, low) if low is not None else number
        number = min(number, high) if high is not None else number
        self.lineEdit().setText(str(int(number)) if whole else f"{number:.4g}")
        self.lineEdit().editingFinished.emit()

    def _step(self, number: float, whole: bool) -> float:
        if not whole:
            return 0.05 if abs(number) <= 2 else 0.5
        size = abs(number)
        # Sizes of contexts and batches go in steps that are worth making; small counts go one by one.
        return 1024 if size >= 8192 else 256 if size >= 1024 else 32 if size >= 256 else 1

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class _LineEditor(Editor):
    """Takes what is typed after a pause, on Enter and on leaving."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_WHILE_TYPING_MS)
        self._pause.timeout.connect(self.commit)

    def _watch(self, line: QLineEdit) -> None:
        line.textEdited.connect(self._pause.start)
        line.editingFinished.connect(self.commit)

    @Slot()
    def commit(self) -> None:
        """Put what is typed into the plan."""
        raise NotImplementedError

    def _show(self, line: QLineEdit, text: str) -> None:
        if not text and line.hasFocus() and line.text() == self.entry.default:
            # The default is left out of the plan; while it is being typed it stays in the field all the same.
            return
        if line.text() != text:
            with QSignalBlocker(line):
                line.setText(text)
                line.setCursorPosition(0 if not line.hasFocus() else len(text))


class NumberEditor(_LineEditor):
    """A number with its unit; two of them for a range."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        count = 2 if entry.kind is Kind.RANGE else 1
        self.boxes = [NumberBox(entry) for _ in range(count)]
        for box, name in zip(self.boxes, (entry.label, tr("{name}, end", name=entry.label)), strict=False):
            box.setAccessibleName(name)
            box.setMinimumWidth(theme().px(52))
            box.lineEdit().setPlaceholderText("" if count > 1 else entry.default or tr("not set"))
            self._watch(box.lineEdit())
        unit = [Label(entry.unit, "caption", "text2")] if entry.unit else []
        line = row(*self.boxes, *unit, gap=6)
        for index in range(count):
            line.setStretch(index, 1)
        self.setLayout(line)

    def sync(self, state: RowState) -> None:
        values = said(self.entry, state.value).split(" ") if len(self.boxes) > 1 else [said(self.entry, state.value)]
        for index, box in enumerate(self.boxes):
            self._show(box.lineEdit(), values[index] if index < len(values) else "")
            box.setEnabled(not state.lock and not state.kept)
            mark_error(box, _is_error(state))

    @Slot()
    def commit(self) -> None:
        self._pause.stop()
        values = [box.text().strip() for box in self.boxes]
        if all(values) or not any(values):
            self._typed(*values)

    def stops(self) -> list[QWidget]:
        return list(self.boxes)


class TextEditor(_LineEditor):
    """A line of text; a path has a button to look for it, a list with known items one to tick them."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        self.line = QLineEdit()
        self.line.setAccessibleName(entry.label)
        self.line.setPlaceholderText(entry.default or (tr("file:…, env:…") if entry.secret else tr("none")))
        if entry.secret:
            self.line.setEchoMode(QLineEdit.EchoMode.PasswordEchoOnEdit)
        self._watch(self.line)
        self.browse = None
        line = row(self.line, gap=4)
        if entry.kind in (Kind.PATH, Kind.FOLDER):
            self.browse = tool_button("folder", tr("Choose: {name}", name=entry.label), self._browse)
            line.addWidget(self.browse)
        line.setStretch(0, 1)
        self.setLayout(line)

    def sync(self, state: RowState) -> None:
        text = said(self.entry, state.value)
        self._show(self.line, text)
        if self.entry.secret and (text.startswith(("env:", "file:", "keyring:")) or not text):
            self.line.setEchoMode(QLineEdit.EchoMode.Normal)
        elif self.entry.secret:
            self.line.setEchoMode(QLineEdit.EchoMode.PasswordEchoOnEdit)
        self.line.setToolTip("" if self.entry.secret else text)
        for widget in self.stops():
            widget.setEnabled(not state.lock and not state.kept)
        mark_error(self.line, _is_error(state))

    @Slot()
    def commit(self) -> None:
        self._pause.stop()
        text = self.line.text()
        self._typed(as_typed(text) if self.browse is not None else text)

    def _browse(self) -> None:
        path = ask_path(self, self.entry, self.line.text())
        if path:
            self._show(self.line, path)
            self.commit()

    def stops(self) -> list[QWidget]:
        return [self.line, *([self.browse] if self.browse is not None else [])]


def ask_path(owner: QWidget, entry: Entry, near: str) -> str:
    """A file or folder dialog; "" when it was left."""
    if entry.kind is Kind.FOLDER:
        return QFileDialog.getExistingDirectory(owner, entry.label, near)
    return QFileDialog.getOpenFileName(owner, entry.label, near)[0]
