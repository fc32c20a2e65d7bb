"""What goes with the chosen model: its projector and a draft, found by metadata, decided by the person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QGridLayout, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.models.rows import ModelRow
from paddock.desktop.parts.basic import Label, column
from paddock.desktop.parts.blocks import section
from paddock.desktop.tr import tr
from paddock.gguf.model import Kind
from paddock.library import Entry, Pairing
from paddock.library.pairing import OWN_LAYERS
from paddock.units import bytes_text
from paddock.work import companions

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_AUTO, _NONE, _FILE = "auto", "", "file"


class CompanionsBox(QWidget):
    """Two boxes with what could go with a model; each choice is remembered for that model."""

    chosen = Signal()
    """the person decided, and it was saved"""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._entry: Entry | None = None
        self.boxes: dict[str, QComboBox] = {}
        self.notes: dict[str, Label] = {}
        self._labels: dict[str, Label] = {}
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        names = {"projector": tr("Projector"), "draft": tr("Draft")}
        for at, (kind, name) in enumerate(names.items()):
            self._labels[kind] = Label(name, "note", "text2")
            box = self.boxes[kind] = QComboBox()
            box.setAccessibleName(tr("{what} that goes with this model", what=name))
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(24)
            box.activated.connect(lambda _i, k=kind: self._decided(k))
            note = self.notes[kind] = Label("", "note", "text2", wrap=True)
            grid.addWidget(self._labels[kind], 2 * at, 0)
            grid.addWidget(box, 2 * at, 1)
            grid.addWidget(note, 2 * at + 1, 1)
        grid.setColumnStretch(1, 1)
        self.setLayout(column(section(tr("Goes with")), grid, gap=6))
        self.hide()

    def show_row(self, shown: ModelRow | None) -> None:
        """What there is for this file; hidden where nothing could go with it."""
        path = shown.path if shown is not None else None
        entries: list[Any] = self._desk.entries or []
        self._entry = next((e for e in entries if e.path == path), None) if path is not None else None
        if self._entry is None or self._entry.model is None or self._entry.kind is not Kind.MODEL:
            self.hide()
            return
        found = companions.companions(self._desk.workspace, self._entry, entries)
        there = [self._fill("projector", found.projector), self._fill("draft", found.draft)]
        self.setVisible(any(there))

    def _fill(self, kind: str, pairing: Pairing) -> bool:
        """Whether there is anything to choose."""
        box, there = self.boxes[kind], bool(pairing.options or pairing.by_person or pairing.own_layers)
        with QSignalBlocker(box):
            box.clear()
            if kind == "projector":
                box.addItem(self._auto_words(pairing), _AUTO)
            box.addItem(tr("None"), _NONE)
            if pairing.own_layers:
                box.addItem(tr("Its own prediction layers (MTP)"), OWN_LAYERS)
            for entry in pairing.options:
                box.addItem(f"{entry.path.name} · {bytes_text(entry.size_bytes)}", str(entry.path))
            if pairing.lost is not None:
                box.addItem(tr("{name}, which is gone", name=pairing.lost.name), str(pairing.lost))
            box.addItem(tr("Choose a file…"), _FILE)
            box.setCurrentIndex(max(0, box.findData(self._current(kind, pairing))))
        self.notes[kind].setText(self._note(kind, pairing))
        for part in (box, self.notes[kind], self._labels[kind]):
            part.setVisible(there)
        self.notes[kind].setVisible(there and bool(self.notes[kind].full_text()))
        return there

    @staticmethod
    def _current(kind: str, pairing: Pairing) -> str:
        if pairing.lost is not None:
            return str(pairing.lost)
        if pairing.own_chosen:
            return OWN_LAYERS
        if pairing.by_person:
            return str(pairing.chosen.path) if pairing.chosen is not None else _NONE
        return _AUTO if kind == "projector" else _NONE

    @staticmethod
    def _auto_words(pairing: Pairing) -> str:
        if pairing.by_person:
            return tr("Decide by the files")
        if pairing.chosen is not None:
            return tr("{name}, the only one that fits", name=pairing.chosen.path.name)
        return tr("None yet: please choose")

    @staticmethod
    def _note(kind: str, pairing: Pairing) -> str:
        if pairing.lost is not None:
            return tr("The file that you chose is not there any more: the model starts without it.")
        if pairing.by_person:
            return tr("Your choice, remembered for this model.")
        if kind == "draft":
            if pairing.own_layers and not pairing.options:
                return tr("This model can draft for itself. Whether it is faster has to be tried.")
            return tr("Same vocabulary, much smaller. Whether it is faster has to be tried.")
        if pairing.chosen is None:
            return tr("The files do not tell which projector is meant: choose one to use images with this model.")
        return ""

    def _decided(self, kind: str) -> None:
        entry, word = self._entry, self.boxes[kind].currentData()
        if entry is None or entry.model is None:
            return
        if word == _FILE:
            word, _ = QFileDialog.getOpenFileName(self, tr("File that goes with the model"), str(entry.path.parent),
                                                  tr("Model files (*.gguf)"))
            if not word:
                self._again()
                return
        self.decide(kind, None if word == _AUTO else str(word))

    def decide(self, kind: str, word: str | None) -> None:
        """The person's word: a path, "" for none, None to decide by the files."""
        entry = self._entry
        if entry is None or entry.model is None:
            return
        model, workspace = entry.model, self._desk.workspace

        def done(_nothing: object) -> None:
            self._again()
            self.chosen.emit()

        bridge.run(lambda: companions.choose(workspace, model, kind, word), done, self._desk.failed.emit, self,
                   name="companion", in_order=True)

    def _again(self) -> None:
        if self._entry is not None and self._entry.model is not None:
            found = companions.companions(self._desk.workspace, self._entry, self._desk.entries or [])
            self.setVisible(any([self._fill("projector", found.projector), self._fill("draft", found.draft)]))
