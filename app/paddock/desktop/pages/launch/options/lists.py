"""Editors of several values: repeated options, lists with known items, and what is kept word for word."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QMenu, QToolButton, QWidget

from paddock.desktop.pages.launch.options.editing import put, repeated, said, value_of, verbatim, words
from paddock.desktop.pages.launch.options.editors import Editor, TextEditor, ask_path, mark_error
from paddock.desktop.pages.launch.options.entries import Entry
from paddock.desktop.pages.launch.options.states import RowState
from paddock.desktop.parts.basic import button, column, row, tool_button
from paddock.desktop.tr import tr
from paddock.launch.catalogue import Group, Kind
from paddock.launch.model import Setting
from paddock.paths import as_typed

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class ItemsEditor(TextEditor):
    """A comma-separated list whose items are known: the button ticks them."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        self.menu = QMenu(self)
        self.choose = tool_button("chevron-down", tr("Choose: {name}", name=entry.label), None)
        self.choose.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.choose.setMenu(self.menu)
        self.menu.aboutToShow.connect(self._fill)
        layout = self.layout()
        if layout is not None:
            layout.addWidget(self.choose)

    @Slot()
    def _fill(self) -> None:
        self.menu.clear()
        chosen = self._items()
        for item in self.entry.choices:
            action = QAction(item, self.menu)
            action.setCheckable(True)
            action.setChecked(item in chosen)
            action.toggled.connect(partial(self._toggle, item))
            self.menu.addAction(action)

    def _items(self) -> list[str]:
        return [part.strip() for part in self.line.text().split(",") if part.strip()]

    def _toggle(self, item: str, on: bool) -> None:
        items = [part for part in self._items() if part != item]
        if on:
            items.append(item)
        self._show(self.line, ",".join(items))
        self.commit()

    @Slot()
    def commit(self) -> None:
        self._pause.stop()
        if self.entry.appends:
            before = said(self.entry, value_of(self.entry, self.desk.plan))
            text = ",".join(self._items())
            if text != before.replace(", ", ","):
                self.desk.edit(repeated(self.entry, self.desk.plan, [text]))
        else:
            super().commit()

    def sync(self, state: RowState) -> None:
        super().sync(state)
        if self.entry.appends:
            self._show(self.line, ",".join(part.strip() for part in said(self.entry, state.value).split(",") if part))

    def stops(self) -> list[QWidget]:
        return [*super().stops(), *([self.choose] if hasattr(self, "choose") else [])]


class RepeatEditor(Editor):
    """One line for each time that the option is given, and one to add another."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        self.fields: list[QLineEdit] = []
        self.removers: list[QToolButton] = []
        self._rows: list[QWidget] = []
        self._box = column(gap=4)
        self.add = button(tr("Add"), "plus", self._add, small=True, name=tr("Add: {name}", name=entry.label))
        self._extra = row(self.add, None, gap=4)
        self._paths = entry.option is not None and entry.option.group is Group.LORA and entry.kind is Kind.LIST
        self.browse = tool_button("folder", tr("Choose: {name}", name=entry.label), self._browse)
        self.browse.setVisible(self._paths)
        self._extra.insertWidget(1, self.browse)
        self._box.addLayout(self._extra)
        self.setLayout(self._box)
        self._blank = False
        self._off = False
        self._filling = False

    def lines(self) -> int:
        held = len(value_of(self.entry, self.desk.plan))
        return held + int(self._blank) + 1

    def sync(self, state: RowState) -> None:
        values = [s.value or "" for s in state.value if isinstance(s, Setting)]
        self._off = bool(state.lock) or state.kept
        wanted = values + ([""] if self._blank else [])
        # A line that goes while it has the focus says that it was edited: what it says is out of date.
        self._filling = True
        while len(self.fields) > len(wanted):
            self._drop()
        while len(self.fields) < len(wanted):
            self._append()
        for line, text in zip(self.fields, wanted, strict=True):
            if line.text() != text and not (line.hasFocus() and text == ""):
                with QSignalBlocker(line):
                    line.setText(text)
                    line.setCursorPosition(0)
            line.setToolTip(text)
            mark_error(line, state.issue is not None and state.issue.severity == "error")
        self._filling = False
        for widget in self.stops():
            widget.setEnabled(not self._off)

    def _append(self) -> None:
        number = len(self.fields) + 1
        line = QLineEdit()
        line.setAccessibleName(tr("{name}, {number}", name=self.entry.label, number=number))
        line.setPlaceholderText(self._example())
        line.editingFinished.connect(self._commit)
        remove = tool_button("x", tr("Take out: {name}, {number}", name=self.entry.label, number=number),
                             partial(self._remove, line))
        made = QWidget()
        box = row(line, remove, gap=4)
        box.setStretch(0, 1)
        made.setLayout(box)
        self._box.insertWidget(len(self._rows), made)
        self._rows.append(made)
        self.fields.append(line)
        self.removers.append(remove)

    def _example(self) -> str:
        return {"override-tensor": r"blk\.\d+\.ffn_.*_exps=CPU", "override-kv": "key=int:1",
                "logit-bias": "15043+1"}.get(self.entry.key, "")

    def _drop(self) -> None:
        made = self._rows.pop()
        self.fields.pop()
        self.removers.pop()
        made.hide()
        made.setParent(None)
        made.deleteLater()

    @Slot()
    def _add(self) -> None:
        self._blank = True
        self.touched.emit()
        if self.fields:
            self.fields[-1].setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def _commit(self) -> None:
        if self._filling:
            return
        texts = [as_typed(line.text()) if self._paths else line.text().strip() for line in self.fields]
        if self._blank and texts and texts[-1]:
            self._blank = False
        values = [t for t in texts if t]
        held = [s.value for s in value_of(self.entry, self.desk.plan) if isinstance(s, Setting)]
        if values != held:
            self.desk.edit(repeated(self.entry, self.desk.plan, values))

    def _remove(self, line: QLineEdit) -> None:
        at = self.fields.index(line)
        values = [one.text().strip() for index, one in enumerate(self.fields) if index != at]
        if self._blank and at == len(self.fields) - 1:
            self._blank = False
        before = self.desk.plan
        self.desk.edit(repeated(self.entry, self.desk.plan, values))
        if self.desk.plan is before:
            self.touched.emit()

    def _browse(self) -> None:
        path = ask_path(self, self.entry, "")
        if path:
            values = [line.text().strip() for line in self.fields]
            self.desk.edit(repeated(self.entry, self.desk.plan, [*values, path]))

    def stops(self) -> list[QWidget]:
        pairs = [w for pair in zip(self.fields, self.removers, strict=True) for w in pair]
        return [*pairs, self.add, *([self.browse] if self._paths else [])]


class PrefixEditor(TextEditor):
    """The words before the engine, quoted as a shell takes them; kept as separate words."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        self.line.setPlaceholderText(tr("nothing"))
        self._before: tuple[str, ...] = ()

    @Slot()
    def commit(self) -> None:
        self._pause.stop()
        try:
            found = words(self.line.text())
        except ValueError:
            self._before = self.desk.plan.prefix
            self.problem = tr("A quotation mark is never closed: nothing was changed.")
            mark_error(self.line, True)
            self.touched.emit()
            return
        self.problem = ""
        mark_error(self.line, False)
        if found != self.desk.plan.prefix:
            self.desk.edit(put(self.entry, self.desk.plan, found))
        else:
            self.touched.emit()

    def sync(self, state: RowState) -> None:
        if self.problem and self.desk.plan.prefix == self._before:
            return
        self.problem = ""
        super().sync(state)


class KeptEditor(Editor):
    """What this engine has not, word for word: it can only be taken out."""

    def __init__(self, desk: Desk, entry: Entry) -> None:
        super().__init__(desk, entry)
        self.line = QLineEdit()
        self.line.setReadOnly(True)
        self.line.setEnabled(False)
        self.line.setAccessibleName(entry.label)
        self.setLayout(row(self.line))

    def sync(self, state: RowState) -> None:
        text = verbatim(self.entry, state.value)
        if self.line.text() != text:
            self.line.setText(text)
            self.line.setCursorPosition(0)
        self.line.setToolTip(text)

    def stops(self) -> list[QWidget]:
        return []
