"""Rows that are no option: another variable, usual wrappers for the prefix."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from paddock.desktop.pages.launch.drafting import drafts_itself, own_layers, pairing_models, take_draft, take_own
from paddock.desktop.pages.launch.fields import entry_name, entry_path
from paddock.desktop.pages.launch.options.editing import put, words
from paddock.desktop.pages.launch.options.entries import ENVIRONMENT, PREFIX, VARIABLE, Entry
from paddock.desktop.parts.basic import IconLabel, Label, button, column, row
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.catalogue import Kind

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

ADD_HEIGHT, STARTS_HEIGHT, WAITING_HEIGHT, DRAFTS_HEIGHT = 52, 76, 44, 64
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class AddVariable(QWidget):
    """Name and value of a variable that the table does not know."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__(parent)
        self._desk = desk
        self.name = QLineEdit()
        self.name.setPlaceholderText(tr("NAME"))
        self.name.setAccessibleName(tr("Name of another variable"))
        self.value = QLineEdit()
        self.value.setPlaceholderText(tr("value"))
        self.value.setAccessibleName(tr("Value of another variable"))
        self.button = button(tr("Add"), "plus", self.add, name=tr("Add a variable"))
        self.button.setEnabled(False)
        self.name.textChanged.connect(self._check)
        for line in (self.name, self.value):
            line.returnPressed.connect(self.add)
        box = row(self.name, self.value, self.button, gap=8, margins=(theme().px(26), 8, 16, 8))
        box.setStretch(0, 1)
        box.setStretch(1, 1)
        self.setLayout(box)

    @Slot()
    def _check(self) -> None:
        self.button.setEnabled(_NAME.fullmatch(self.name.text().strip()) is not None)

    @Slot()
    def add(self) -> None:
        """Set it; an odd name is not taken."""
        name = self.name.text().strip()
        if _NAME.fullmatch(name) is None:
            return
        entry = Entry(f"{VARIABLE}{name}", ENVIRONMENT, name, (name,), Kind.TEXT)
        value = self.value.text()
        self.name.clear()
        self.value.clear()
        self._desk.edit(put(entry, self._desk.plan, (value,)))


class UsualPrefixes(QWidget):
    """Wrappers that people put before a server: a press puts one in front of the prefix."""

    STARTS = ("numactl --interleave=all", "taskset -c 0-7", "nice -n 10", "docker run …")
    CONTAINER = ("docker", "run", "--rm", "-p", "127.0.0.1:8080:8080", "ghcr.io/ggml-org/llama.cpp:server")
    """It brings the engine along; the folder of the model is added to it."""

    def __init__(self, desk: Desk, parent: QWidget,
                 found: Callable[[str], str | None] = shutil.which) -> None:
        super().__init__(parent)
        self._desk = desk
        self.buttons: list[QPushButton] = []
        missing = []
        for text in self.STARTS:
            made = button(text, "plus", partial(self._start, text), small=True,
                          name=tr("Put {prefix} before the engine", prefix=text))
            if found(text.split()[0]) is None:
                made.setEnabled(False)
                missing.append(text.split()[0])
            self.buttons.append(made)
        note = tr("Each word is passed on as it is, no shell between. A wrapper script can stand here too. A container "
                  "brings its own engine.")
        if missing:
            note = tr("Not installed here: {programs}.", programs=", ".join(missing)) + " " + note
        self.setLayout(column(row(*self.buttons, None, gap=8), Label(note, "caption", "text2", wrap=True), gap=4,
                              margins=(theme().px(26), 8, 16, 8)))

    def _start(self, text: str) -> None:
        entry = Entry("prefix", PREFIX, "", (), Kind.TEXT)
        added = self._container() if text.startswith("docker") else words(text)
        self._desk.edit(put(entry, self._desk.plan, (*added, *self._desk.plan.prefix)))

    def _container(self) -> tuple[str, ...]:
        """With the model's folder where it lies, so that the path in the plan is right inside as well."""
        model = self._desk.model_path()
        folder = ("-v", f"{Path(model).parent}:{Path(model).parent}:ro") if model else ()
        return (*self.CONTAINER[:-1], *folder, self.CONTAINER[-1])


class WaitingOptions(QWidget):
    """Speculative options that appear with a type or a draft: how many wait, and a button to see them anyway."""

    def __init__(self, parent: QWidget, reveal: Callable[[], None]) -> None:
        super().__init__(parent)
        self.words = Label("", "note", "text2", wrap=True)
        self.button = button(tr("Show them"), None, reveal, small=True, name=tr("Show the options that wait"))
        box = row(IconLabel("lock", 14), self.words, self.button, gap=8, margins=(theme().px(26), 4, 16, 4))
        box.setStretch(1, 1)
        self.setLayout(box)

    def show_count(self, count: int) -> None:
        self.words.setText(tr("{count} option more appears with a type (--spec-type) or a draft model (-md).",
                              plural="{count} options more appear with a type (--spec-type) or a draft model (-md).",
                              count=count))


class PairingDrafts(QWidget):
    """The models here that could draft for the one in the plan: a press takes one, with a type."""

    MOST = 3

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__(parent)
        self._desk = desk
        self.words = Label("", "note", "text2", wrap=True)
        self._line = row(None, gap=8)
        self.buttons: list[QPushButton] = []
        self._shown: object = None
        self.setLayout(column(self.words, self._line, gap=6, margins=(theme().px(26), 8, 16, 8)))
        for signal in (desk.previewChanged, desk.modelsChanged, desk.planChanged):
            signal.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Those that pair with the model as it is now, smallest first."""
        found = pairing_models(self._desk)[:self.MOST]
        taken = self._desk.plan.get("spec-draft-model") or ""
        known = self._desk.preview is not None and self._desk.preview.model is not None
        own, itself = own_layers(self._desk), drafts_itself(self._desk)
        key = (tuple(entry_path(entry) for entry in found), taken, known, own, itself)
        if key == self._shown:
            return
        self._shown = key
        for old in self.buttons:
            self._line.removeWidget(old)
            old.deleteLater()
        self.buttons = []
        for at, entry in enumerate(found):
            path, name = entry_path(entry), entry_name(entry)
            made = button(name, "check" if path == taken else "plus", partial(self._take, path), small=True,
                          name=tr("Draft with {name}", name=name))
            made.setMaximumWidth(theme().px(220))
            made.setToolTip(path)
            self.buttons.append(made)
            self._line.insertWidget(at, made)
        if own:
            made = button(tr("Its own layers (MTP)"), "check" if itself else "plus", partial(take_own, self._desk),
                          small=True, name=tr("Draft with the model’s own prediction layers"))
            self.buttons.append(made)
            self._line.insertWidget(0, made)
        if found:
            self.words.setText(tr("Models here with the same vocabulary, small enough to guess ahead:"))
        elif own:
            self.words.setText(tr("The model predicts further tokens with layers of its own, without another file:"))
        elif known:
            self.words.setText(tr("No model here could draft for this one: it takes the same vocabulary and an eighth "
                                  "of its size at most. The types that begin with ngram need none."))
        else:
            self.words.setText(tr("Which models could draft is known once the model is read."))

    def _take(self, path: str) -> None:
        take_draft(self._desk, path)
