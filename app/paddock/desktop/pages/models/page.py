"""The page Models: search, places, list, inspector."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel, QTimer, Slot
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QComboBox, QFileDialog, QFrame, QSplitter, QStackedWidget, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.launch.first import FirstSteps
from paddock.desktop.pages.models.companions import CompanionsBox
from paddock.desktop.pages.models.fits import Fits
from paddock.desktop.pages.models.hub import HubPane
from paddock.desktop.pages.models.inspector import Inspector
from paddock.desktop.pages.models.rows import ROW_ROLE, ModelRow, ModelsFilter, ModelsModel, row_of, told_apart
from paddock.desktop.pages.models.view import ModelsView
from paddock.desktop.pages.models.watching import Watcher
from paddock.desktop.pages.searching import SearchEdit
from paddock.desktop.parts.basic import (
    Label,
    button,
    column,
    panel,
    row,
    rule,
    shorten_button,
    tool_button,
)
from paddock.desktop.parts.blocks import EmptyState, PageHeader, ProgressLine, Segments
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.units import bytes_text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_COMPACT_WIDTH = 1000
_SEARCH_MS = 80
_PROBLEMS = ("problems",)
"""Among the places: all files with something wrong."""


class ModelsPage(QFrame):
    """Scans when it is first shown; verdicts come afterwards, one by one."""

    title = "Models"
    icon = "boxes"

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        self.setMinimumSize(theme().px(420), theme().px(280))
        self.desk = desk
        self.model, self.proxy = ModelsModel(self), ModelsFilter(self)
        self.proxy.setSourceModel(self.model)
        self.fits = Fits(desk.workspace, self)
        self.fits.fitted.connect(self._fitted)
        self._compact: bool | None = None
        self._asked = self._on_hub = False
        self._build()
        self.watcher = Watcher(desk, self)
        self._typed = QTimer(self)
        self._typed.setSingleShot(True)
        self._typed.setInterval(_SEARCH_MS)
        self._typed.timeout.connect(self._search_now)
        self.search.textChanged.connect(self._typed.start)
        desk.modelsChanged.connect(self._models_changed)
        desk.scanStarted.connect(self._scan_started)
        desk.machineChanged.connect(self._work_out)
        if desk.entries is not None:
            self._models_changed()

    def _build(self) -> None:
        self._build_header()
        self.view = ModelsView(self.proxy)
        self.view.selectionModel().currentRowChanged.connect(self._row_chosen)
        self.view.opened.connect(self._open_current)
        self.inspector = Inspector(CompanionsBox(self.desk))
        self.inspector.launch_wanted.connect(self.desk.open_model)
        self._footer_note = Label(tr("Fit is for context 8,192, KV f16, the memory free now"), "note", "text2",
                                  elide="end")
        self.progress = ProgressLine()
        footer = row(self._footer_note, self.progress, gap=12, margins=(16, 4, 12, 4))
        footer.setStretch(0, 1)
        self._nothing = EmptyState("search", tr("No model file matches"),
                                   tr("Search for fewer words, or choose all places."),
                                   [(tr("Show all"), "undo-2", self._show_all)])
        self._list_pages = QStackedWidget()
        self._list_pages.addWidget(self.view)
        self._list_pages.addWidget(self._nothing)
        self._list = QWidget()
        lines = column(self._list_pages, rule(), panel("window", footer), gap=0)
        lines.setStretch(0, 1)
        self._list.setLayout(lines)
        self._splitter = QSplitter()
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setHandleWidth(1)
        self._single = QStackedWidget()
        self.first_run = FirstSteps(self.desk, self.show_hub)
        self._waiting = EmptyState("boxes", tr("Looking for model files"),
                                   tr("Folders, the Hugging Face cache, LM Studio and Ollama are read."))
        self.pages = QStackedWidget()
        self.hub = HubPane(self.desk)
        self.hub.left.connect(self.show_list)
        for page in (self._waiting, self._splitter, self._single, self.first_run, self.hub):
            self.pages.addWidget(page)
        layout = column(self.header, self.pages, gap=0)
        layout.setStretch(1, 1)
        self.setLayout(layout)
        self._arrange(False)

    def _build_header(self) -> None:
        self.header = PageHeader(tr("Models"))
        self.search = SearchEdit(tr("Search name, quant, architecture"), tr("Search the models"))
        self.places = QComboBox()
        self.places.setAccessibleName(tr("Places"))
        self.places.addItem(tr("All places"), None)
        self.places.currentIndexChanged.connect(self._place_chosen)
        self.choice = Segments([("list", tr("List")), ("file", tr("File"))], tr("Part of the page"))
        self.choice.chosen.connect(self._chosen)
        self._add = button(tr("Add folder…"), "folder-plus", self.add_folder)
        self._add_small = tool_button("folder-plus", tr("Add folder…"), self.add_folder, quiet=False, small=False)
        self._again = tool_button("refresh-cw", tr("Look again"), self.desk.scan, quiet=False, small=False)
        self._find = button(tr("Hugging Face"), "cloud", self.show_hub)
        self._find.setAccessibleName(tr("Find on Hugging Face"))
        self._find.setToolTip(tr("Search there and download. Nothing is sent before you search."))
        for part in (self.choice, self.search, self.places, self._find, self._add, self._add_small, self._again):
            self.header.right.addWidget(part)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self._focus_search)

    # -- content -----------------------------------------------------------------------------------------------------

    @Slot()
    def _models_changed(self) -> None:
        entries = self.desk.entries or []
        chosen = self._current_path()
        self.model.set_rows(told_apart([row_of(e) for e in entries]))
        self._fill_places()
        self._search_now()
        self._choose(chosen)
        self._show_pages()
        self._work_out()

    @Slot()
    def show_hub(self) -> None:
        """The search on Hugging Face in place of the list."""
        self._on_hub = True
        self._show_pages()
        self.hub.words.setFocus()

    @Slot()
    def show_list(self) -> None:
        """The files of this machine."""
        self._on_hub = False
        self._show_pages()

    def _show_pages(self) -> None:
        """Hub, list, first run, or "looking"."""
        if self._on_hub:
            self.pages.setCurrentWidget(self.hub)
        elif self.model.rowCount():
            self.pages.setCurrentWidget(self._single if self._compact else self._splitter)
        elif self.desk.entries is None:
            self.pages.setCurrentWidget(self._waiting)
        else:
            self.pages.setCurrentWidget(self.first_run)
        there = bool(self.model.rowCount()) and not self._on_hub
        self._find.setVisible(not self._on_hub)
        self.places.setVisible(there)
        self.search.setVisible(there)
        self.choice.setVisible(there and bool(self._compact))

    def _fill_places(self) -> None:
        wanted = self.places.currentData()
        names = sorted({r.place for r in self.model.rows}, key=str.casefold)
        self.places.blockSignals(True)
        self.places.clear()
        self.places.addItem(tr("All places"), None)
        for name in names:
            self.places.addItem(name, name)
        odd = sum(1 for r in self.model.rows if r.counted)
        if odd:
            self.places.insertSeparator(self.places.count())
            self.places.addItem(tr("{count} file with a problem", plural="{count} files with problems", count=odd),
                                _PROBLEMS)
        at = next((i for i in range(self.places.count()) if self.places.itemData(i) == wanted), 0)
        self.places.setCurrentIndex(at if wanted is not None else 0)
        self.places.blockSignals(False)
        self._show_chosen_place()

    @Slot()
    def _search_now(self) -> None:
        self._typed.stop()
        self.proxy.search(self.search.text())
        self._say_count()

    @Slot(int)
    def _place_chosen(self, _index: int) -> None:
        self._show_chosen_place()
        self._say_count()

    def _show_chosen_place(self) -> None:
        chosen = self.places.currentData()
        self.proxy.show_problems(chosen == _PROBLEMS)
        self.proxy.show_place(None if chosen == _PROBLEMS else chosen)

    def _say_count(self) -> None:
        rows, shown = self.model.rows, self.proxy.rowCount()
        if not rows:
            self.header.note.setText(tr("looking …") if self.desk.entries is None else tr("no file yet"))
            return
        size = sum(r.size_bytes or 0 for r in rows)
        places = len({r.place for r in rows})
        words = tr("{count} file", plural="{count} files", count=len(rows))
        if shown < len(rows):
            words = tr("{shown} of {count} files", shown=shown, count=len(rows))
        words += f", {bytes_text(size, 1)}, " + tr("{count} place", plural="{count} places", count=places)
        self.header.note.setText(words)
        self._list_pages.setCurrentIndex(0 if shown else 1)

    def _show_all(self) -> None:
        self.search.clear()
        self.places.setCurrentIndex(0)
        self._search_now()

    def _current_path(self) -> Path | None:
        found = self.view.currentIndex().data(ROW_ROLE)
        return found.path if isinstance(found, ModelRow) else None

    def _choose(self, path: Path | None) -> None:
        """Select a file's row; the first where it is gone."""
        for i in range(self.proxy.rowCount()):
            index = self.proxy.index(i, 0)
            found = index.data(ROW_ROLE)
            if isinstance(found, ModelRow) and (path is None or found.path == path):
                self.view.selectionModel().setCurrentIndex(
                    index, QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows)
                self.view.scrollTo(index)
                return
        if path is not None:
            self._choose(None)
        else:
            self.inspector.show_row(None)

    def show_item(self, path: object) -> None:
        """Another page points at a file."""
        self.show_list()
        self._show_all()
        self._choose(Path(str(path)))

    @Slot()
    def _row_chosen(self) -> None:
        found = self.view.currentIndex().data(ROW_ROLE)
        self.inspector.show_row(found if isinstance(found, ModelRow) else None)

    def _open_current(self) -> None:
        """Enter or double click: in a small window first the file itself, else straight to Launch."""
        if self._compact:
            self.choice.select("file")
            self._chosen("file")
            return
        found = self.view.currentIndex().data(ROW_ROLE)
        if isinstance(found, ModelRow) and found.launchable:
            self.desk.open_model(found.path)

    # -- verdicts ------------------------------------------------------------------------------------------------------

    @Slot()
    def _work_out(self) -> None:
        """Those in sight first; only while the page is there to be seen."""
        if not self.isVisible() or self.desk.engines is None:
            return
        rows = [self.proxy.index(i, 0).data(ROW_ROLE) for i in range(self.proxy.rowCount())]
        seen = {r.path for r in rows}
        self.fits.work_out([*rows, *(r for r in self.model.rows if r.path not in seen)])

    @Slot(object, object, str, object)
    def _fitted(self, path: Path, verdict: object, reason: str, kv: float | None) -> None:
        self.model.set_verdict(path, verdict, reason, kv)  # type: ignore[arg-type]
        current = self.view.currentIndex().data(ROW_ROLE)
        if isinstance(current, ModelRow) and current.path == path:
            self.inspector.show_row(current)

    # -- acts ----------------------------------------------------------------------------------------------------------

    @Slot(object)
    def _scan_started(self, job: bridge.Job) -> None:
        self.progress.follow(job, tr("Reading headers"))
        self._say_count()

    def add_folder(self) -> None:
        """Ask for a folder; the desk keeps it and looks again."""
        folder = QFileDialog.getExistingDirectory(self, tr("Folder with model files"))
        if folder:
            self.desk.add_folder(folder)

    @Slot()
    def _focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    # -- Qt ------------------------------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        if not self._asked and self.desk.entries is None:
            self._asked = True
            self.desk.scan()
        self._say_count()
        self._work_out()
        self.watcher.start()

    def hideEvent(self, event: object) -> None:
        self.fits.cancel()
        self.watcher.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange(self.width() < theme().px(_COMPACT_WIDTH))

    def _arrange(self, compact: bool) -> None:
        """List and inspector beside each other, or one at a time."""
        if compact == self._compact:
            return
        self._compact = compact
        self._add.setVisible(not compact)
        self._add_small.setVisible(compact)
        self.search.setFixedWidth(theme().px(170 if compact else 270))
        self.hub.arrange(compact)
        shorten_button(self._find, tr("Hugging Face"), compact)
        for part in (self._list, self.inspector):
            if compact:
                self._single.addWidget(part)
            else:
                self._splitter.addWidget(part)
                part.show()
        if compact:
            self._chosen(self.choice.key())
        else:
            self._splitter.setSizes([theme().px(771), theme().px(445)])
            self._splitter.setStretchFactor(0, 1)
            self._splitter.setStretchFactor(1, 0)
        self._show_pages()

    @Slot(str)
    def _chosen(self, key: str) -> None:
        self._single.setCurrentWidget(self._list if key == "list" else self.inspector)
