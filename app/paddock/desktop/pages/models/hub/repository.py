"""One repository: its quantisations with size and verdict, the projector to take along, the folder, Download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel, QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QFrame, QHeaderView, QTableView, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.launch.placement.tables import CellText, Rows
from paddock.desktop.pages.models.rows import kind_word
from paddock.desktop.parts.basic import Label, button, column, row
from paddock.desktop.parts.signs import VERDICTS, Tag, verdict_word
from paddock.desktop.parts.tables import row_table
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.library.hub import Choice, OfflineError, Repository
from paddock.units import bytes_text, count_text

if TYPE_CHECKING:
    from paddock.work.hub import HubDesk, RemoteFit

CHOICE, SIZE, FIT = range(3)
UNASKED_BYTES = 48 << 20
"""Of headers, read to fill in the verdicts of a repository; a header has 1 to 30 MB, a repository twenty choices."""


class RemoteFits(QObject):
    """The verdict of each choice, one after the other, in a worker; what is not wanted any more is dropped."""

    fitted = Signal(object, int, object)
    """Repository, number of the choice, RemoteFit or AppError"""
    rested = Signal(object)
    """Repository: enough was read unasked; the other choices are read when they are chosen"""

    def __init__(self, hub: HubDesk, parent: QObject) -> None:
        super().__init__(parent)
        self._hub = hub
        self._job: bridge.Job | None = None

    def work_out(self, repository: Repository, numbers: Sequence[int]) -> None:
        self.cancel()
        job = self._job = bridge.Job("remote fits")
        bridge.run(lambda: self._each(repository, numbers, job), None, None, self, name="remote fits", job=job)

    def cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _each(self, repository: Repository, numbers: Sequence[int], job: bridge.Job) -> None:
        spent = 0
        for number in numbers:
            if job.cancelled():
                return
            if spent > UNASKED_BYTES:
                self.rested.emit(repository)
                return
            try:
                found: RemoteFit | AppError = self._hub.fit(repository, repository.choices[number], None, job.cancelled)
            except AppError as error:
                found = error
            if not job.cancelled():
                self.fitted.emit(repository, number, found)
            if not isinstance(found, AppError):
                spent += sum(s.data_start or 0 for s in found.model.shards)
            if isinstance(found, OfflineError):
                return  # the others would wait for the same silence


class RepositoryView(QFrame):
    """`show_repository`; `wanted` when Download is pressed."""

    wanted = Signal(object, object)
    """Repository, list of the choices to download"""
    folder_wanted = Signal()

    def __init__(self, hub: HubDesk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        self._hub = hub
        self.repository: Repository | None = None
        self._fits: dict[int, RemoteFit | AppError] = {}
        self.fits = RemoteFits(hub, self)
        self.fits.fitted.connect(self._fitted)
        self.fits.rested.connect(self._fits_rested)
        self._resting = False
        self._name = Label("", "title", weight=600, elide="middle")
        self._gated = Tag(tr("gated"))
        self._note = Label("", "note", "text2", wrap=True)
        self.rows = Rows([tr("Quant"), tr("Size"), tr("Fit")], frozenset({SIZE}), frozenset(), self)
        self.table = self._table()
        self.reason = Label("", "note", "text2", wrap=True)
        self.projector = QComboBox()
        self.projector.setAccessibleName(tr("Projector"))
        self.projector.currentIndexChanged.connect(lambda _i: self._say())
        self._projector_row = QWidget()
        self._projector_row.setLayout(row(Label(tr("With projector"), "note", "text2"), self.projector))
        self._folder = Label("", "note", "text2", elide="middle")
        self.get = button(tr("Download"), "download", self._get, primary=True)
        change = button(tr("Change…"), None, self.folder_wanted.emit, link=True, small=True)
        change.setAccessibleName(tr("Change the folder for downloads"))
        place = row(Label(tr("Into"), "note", "text2"), self._folder, change, gap=8)
        place.setStretch(1, 1)
        head = row(self._name, self._gated, gap=8)
        head.setStretch(0, 1)
        box = column(
            column(head, self._note, gap=4, margins=(16, 10, 16, 8)), self.table,
            column(self.reason, place, row(self.get, self._projector_row, None, gap=16), gap=8,
                   margins=(16, 8, 16, 12)), gap=0)
        box.setStretch(1, 1)
        self.setLayout(box)

    def _table(self) -> QTableView:
        view = QTableView()
        view.setModel(self.rows)
        row_table(view, 28)
        view.setAccessibleName(tr("What the repository offers"))
        view.setStyleSheet("QTableView::item{padding:0 5px} QHeaderView::section:first{padding-left:16px}"
                           "QTableView::item:first{padding-left:13px}")
        header = view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(CHOICE, QHeaderView.ResizeMode.Stretch)
        view.setColumnWidth(SIZE, theme().px(90))
        view.setColumnWidth(FIT, theme().px(130))
        view.setMinimumHeight(theme().px(84))
        view.selectionModel().currentRowChanged.connect(lambda *_: self._row_chosen())
        view.activated.connect(lambda _i: self._get())
        return view

    # -- what is shown -----------------------------------------------------------------------------------------------

    def show_repository(self, repository: Repository) -> None:
        """A repository's choices; their verdicts follow."""
        self.repository, self._fits, self._resting = repository, {}, False
        self._name.setText(repository.id)
        self._gated.setVisible(repository.gated)
        self.projector.blockSignals(True)
        self.projector.clear()
        for choice in repository.projectors:
            self.projector.addItem(f"{choice.label} · {bytes_text(choice.size_bytes)}", choice)
        self.projector.addItem(tr("none"), None)
        best = repository.projector
        if best is not None:
            self.projector.setCurrentIndex(repository.projectors.index(best))
        elif repository.projectors:
            self.projector.insertItem(0, tr("choose one"), "choose")
            self.projector.setCurrentIndex(0)
        self.projector.blockSignals(False)
        self._projector_row.setVisible(bool(repository.projectors))
        self._fill()
        self.say_folder()
        if self._choices():
            self.table.selectionModel().setCurrentIndex(
                self.rows.index(0, 0),
                QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows)
        self._say()
        if repository.choices:
            self.fits.work_out(repository, range(len(repository.choices)))

    def say_folder(self) -> None:
        """The folder may have been changed."""
        if self.repository is not None:
            self._folder.setText(str(Path(self._hub.folder) / self.repository.id))

    def _choices(self) -> tuple[Choice, ...]:
        return (*self.repository.choices, *self.repository.others) if self.repository is not None else ()

    def _fill(self) -> None:
        self.rows.set_rows([self._cells(n, c) for n, c in enumerate(self._choices())])
        read = next((f for f in self._fits.values() if not isinstance(f, AppError)), None)
        if self.repository is None or not self._choices():
            self._note.setText(tr("There is no GGUF file in this repository."))
        elif read is None:
            self._note.setText(tr("The first megabytes of each file are read to tell whether it fits."))
        else:
            facts = read.model.facts
            parts = [read.model.architecture or "", tr("trained for {tokens} tokens", tokens=count_text(
                facts.trained_context)) if facts.trained_context else "",
                tr("fit is for context {tokens} and the memory free now", tokens=count_text(read.context)),
                tr("with projector {name}", name=read.projector) if read.projector else ""]
            self._note.setText(", ".join(p for p in parts if p))

    def _cells(self, number: int, choice: Choice) -> tuple[CellText, ...]:
        kind = kind_word(choice.kind)
        parts = tr("{count} part", plural="{count} parts", count=len(choice.files)) if len(choice.files) > 1 else ""
        words = " · ".join(w for w in (choice.label, kind, parts) if w)
        return (CellText(words), CellText(bytes_text(choice.size_bytes)), self._fit_cell(number, choice))

    def _fit_cell(self, number: int, choice: Choice) -> CellText:
        if choice.missing:
            return CellText(tr("incomplete"), ("triangle-alert", "warn"), "warn")
        if self.repository is None or number >= len(self.repository.choices):
            return CellText("–", None, "text3")
        found = self._fits.get(number)
        if found is None:
            return CellText(tr("choose to see") if self._resting else "…", None, "text3")
        if isinstance(found, AppError) or found.estimate is None:
            return CellText(tr("Can’t tell"), ("circle-help", "unk"), "unk")
        verdict = found.estimate.verdict
        return CellText(verdict_word(verdict), VERDICTS[verdict], VERDICTS[verdict][1])

    @Slot(object, int, object)
    def _fitted(self, repository: Repository, number: int, found: object) -> None:
        if repository is not self.repository:
            return
        self._fits[number] = found  # type: ignore[assignment]
        at = self.table.currentIndex().row()
        self._fill()
        if at >= 0:
            self.table.selectRow(at)
            self.table.scrollTo(self.rows.index(at, 0))
        self._say()

    @Slot(object)
    def _fits_rested(self, repository: Repository) -> None:
        if repository is not self.repository:
            return
        self._resting = True
        at = self.table.currentIndex().row()
        self._fill()
        if at >= 0:
            self.table.selectRow(at)

    @Slot()
    def _row_chosen(self) -> None:
        """Its header is read now, if it was not among those that were read unasked."""
        at = self.table.currentIndex().row()
        if self._resting and self.repository is not None and 0 <= at < len(self.repository.choices) and (
                at not in self._fits):
            self.fits.work_out(self.repository, [at])
        self._say()

    # -- acts --------------------------------------------------------------------------------------------------------

    @property
    def chosen(self) -> list[Choice]:
        """The choice of the table, and the projector with a model."""
        at, choices = self.table.currentIndex().row(), self._choices()
        if not 0 <= at < len(choices):
            return []
        beside = self.projector.currentData(Qt.ItemDataRole.UserRole)
        with_it = self.repository is not None and at < len(self.repository.choices) and isinstance(beside, Choice)
        return [choices[at], beside] if with_it else [choices[at]]

    def _say(self) -> None:
        """The reason of the chosen verdict, and what Download will bring."""
        chosen, at = self.chosen, self.table.currentIndex().row()
        found = self._fits.get(at)
        text = str(found) if isinstance(found, AppError) else ""
        if found is not None and not isinstance(found, AppError) and found.estimate is not None:
            text = str(found.estimate.rejected or found.estimate.reason)
        if chosen and chosen[0].missing:
            text = tr("{count} part of this model is not in the repository.",
                      plural="{count} parts of this model are not in the repository.", count=chosen[0].missing)
        self.reason.setText(text)
        self.reason.setVisible(bool(text))
        sizes = [c.size_bytes for c in chosen]
        size = sum(s for s in sizes if s is not None)
        self.get.setText(tr("Download {size}", size=bytes_text(size)) if size and None not in sizes else tr("Download"))
        waits = self.projector.currentData() == "choose" and self.repository is not None and (
            0 <= at < len(self.repository.choices))
        self.get.setEnabled(bool(chosen) and not chosen[0].missing and not waits)
        self.get.setToolTip(tr("Choose a projector, or none.") if waits else "")

    def _get(self) -> None:
        if self.repository is not None and self.get.isEnabled() and self.chosen:
            self.wanted.emit(self.repository, self.chosen)
