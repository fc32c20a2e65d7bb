"""Everything that is in one file: facts, tensors, chat template, metadata, problems."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from PySide6.QtCore import QRectF, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QMenu,
    QPlainTextEdit,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from paddock import gguf
from paddock.desktop import bridge
from paddock.desktop.icons import icon
from paddock.desktop.pages.models.companions import CompanionsBox
from paddock.desktop.pages.models.facts import fact_pairs
from paddock.desktop.pages.models.layers import KINDS, LayerPicture, bars_of, kind_colour, kind_word, tensors_words
from paddock.desktop.pages.models.rows import ModelRow
from paddock.desktop.pages.models.tables import FilteredTable, metadata_rows, tensor_rows
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, row, tool_button
from paddock.desktop.parts.blocks import EmptyState, ProgressLine, section
from paddock.desktop.parts.hatch import draw_pattern
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.parts.signs import Chip, Tag
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.gguf.model import ModelFile
from paddock.units import MIB, bytes_text

_PROBLEM_SIGNS = {"error": ("circle-x", "bad"), "warning": ("triangle-alert", "warn"), "hint": ("info", "accent")}


class Inspector(QFrame):
    """`show_row` shows a file; `launch_wanted` and `pages` are the page's business."""

    launch_wanted = Signal(object)
    """Path to open in Launch."""

    def __init__(self, companions: CompanionsBox | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        self._row: ModelRow | None = None
        self.companions = companions
        self._hash_job: bridge.Job | None = None
        self._pages = QStackedWidget()
        self._pages.addWidget(EmptyState("file", tr("No file chosen"),
                                         tr("Choose a model on the left to see what is in it.")))
        body = QWidget()
        body.setLayout(self._body())
        self._pages.addWidget(body)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._pages)

    def _body(self) -> QVBoxLayout:
        self._name = Label("", "title", weight=600, elide="middle")
        self._quant, self._architecture = Tag(""), Tag("")
        self._path = Label("", "note", "text2", elide="middle")
        self._launch = button(tr("Open in Launch"), "rocket", self._open_in_launch, primary=True)
        self._show = button(tr("Show file"), "folder", self._show_file)
        self._more = tool_button("ellipsis", tr("More"), self._menu, quiet=False, small=False)
        self._chip = Chip("", "triangle-alert", "warn")
        self._progress = ProgressLine()
        self._hash = Label("", "note", "text2", wrap=True)
        self._hash.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse
                                           | Qt.TextInteractionFlag.TextSelectableByKeyboard)
        self._hash.hide()
        title = row(self._name, self._quant, self._architecture, gap=8)
        title.setStretch(0, 1)
        path = row(self._path, tool_button("copy", tr("Copy the path"), self._copy_path), gap=8)
        path.setStretch(0, 1)
        self._tabs = QTabWidget()
        self._tabs.setDocumentMode(True)
        for part in (self._tabs, self._tabs.tabBar()):
            part.setAccessibleName(tr("What is in the file"))
        self._tabs.addTab(self._facts_tab(), tr("Facts"))
        self._tensors = FilteredTable(tr("Tensors"), [tr("Name"), tr("Type"), tr("Shape"), tr("Size")],
                                      frozenset({2, 3}))
        self._tabs.addTab(self._tensors, tr("Tensors"))
        self._tabs.addTab(self._template_tab(), tr("Chat template"))
        self._metadata = FilteredTable(tr("Metadata"), [tr("Key"), tr("Value")], stretch=1)
        self._tabs.addTab(self._metadata, tr("Metadata"))
        head = column(title, path, row(self._launch, self._show, self._more, None, self._chip, gap=8), self._progress,
                      self._hash, gap=6, margins=(16, 10, 16, 8))
        box = column(head, self._tabs, gap=0)
        box.setStretch(1, 1)
        return box

    def _facts_tab(self) -> QWidget:
        inner = QWidget()
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._picture = LayerPicture()
        self._picture.chosen.connect(self._layer_chosen)
        self._legend = row(gap=10)
        self._layer = Label("", "note", weight=500)
        self._layer_parts = Label("", "note", "text2", elide="end")
        said = row(self._layer, self._layer_parts, gap=8)
        said.setStretch(1, 1)
        self._problems_title = section(tr("Problems"))
        self._problems = column(gap=8)
        heading = Label(tr("MiB per layer"), weight=600)
        inner.setLayout(column(self._grid, 8, heading, self._legend, self._picture, said, 8, self.companions or 0, 8,
                               self._problems_title, self._problems, None, gap=6, margins=(16, 12, 16, 12)))
        return scrolling(inner, focus=False)

    def _template_tab(self) -> QWidget:
        self._template = QPlainTextEdit()
        self._template.setReadOnly(True)
        self._template.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._template.setFont(theme().font("mono"))
        self._template.setAccessibleName(tr("Chat template"))
        self._template.setPlaceholderText(tr("This file has no chat template: the engine uses its own, or none."))
        holder = QWidget()
        holder.setLayout(column(self._template, margins=(16, 12, 16, 12)))
        return holder

    # -- what is shown -----------------------------------------------------------------------------------------------

    @property
    def row(self) -> ModelRow | None:
        return self._row

    def show_row(self, shown: ModelRow | None) -> None:
        """A file, or None."""
        before = self._row
        if self.companions is not None:
            self.companions.show_row(shown)
        if shown is not None and before is not None and shown.path == before.path and shown.model is before.model:
            self._row = shown
            self._fill_facts(shown)
            return
        self._row = shown
        if self._hash_job is not None:
            self._hash_job.cancel()
            self._hash_job = None
        self._hash.hide()
        self._pages.setCurrentIndex(0 if shown is None else 1)
        if shown is None:
            return
        self._name.setText(shown.name)
        self._path.setText(str(shown.path))
        for tag, text in ((self._quant, shown.quant), (self._architecture, shown.architecture)):
            tag.setText(text or "")
            tag.setVisible(bool(text))
        self._launch.setEnabled(shown.launchable)
        self._launch.setToolTip("" if shown.launchable else tr("This file is not launched by itself."))
        self._say_problems(shown)
        self._fill(shown)

    def _say_problems(self, shown: ModelRow) -> None:
        count, worst = len(shown.problems), shown.worst
        self._chip.setVisible(count > 0)
        if worst is not None:
            name, tone = _PROBLEM_SIGNS[worst]
            words = tr("{count} problem", plural="{count} problems", count=count)
            if worst == "hint":
                words = tr("{count} hint", plural="{count} hints", count=count)
            self._chip.show_tone(words, name, tone)
        empty_layout(self._problems)
        for severity, text in shown.problems:
            name, role = _PROBLEM_SIGNS.get(severity, _PROBLEM_SIGNS["hint"])
            sign = IconLabel(name, 16, role)
            line = row(sign, Label(text, "body", wrap=True), gap=8)
            line.setStretch(1, 1)
            line.setAlignment(sign, Qt.AlignmentFlag.AlignTop)
            self._problems.addLayout(line)
        self._problems_title.setVisible(count > 0)

    def _fill(self, shown: ModelRow) -> None:
        model = shown.model
        self._fill_facts(shown)
        bars = bars_of(model) if model is not None else []
        self._picture.show_bars(bars)
        self._layer_chosen(-1)
        empty_layout(self._legend)
        there = {kind for bar in bars for kind, _ in bar.parts}
        for kind in (k for k in KINDS if k in there):
            self._legend.addLayout(row(_Swatch(kind), Label(kind_word(kind), "caption", "text2"), gap=4))
        self._legend.addStretch(1)
        tensors = tensor_rows(model.tensors) if model is not None else []
        self._tensors.set_rows(tensors, (0, 64, 126, 80))
        self._tabs.setTabText(1, tr("Tensors {count}", count=len(tensors)))
        template = model.metadata.get("tokenizer.chat_template") if model is not None else None
        self._template.setPlainText(str(template) if isinstance(template, str) else "")
        metadata = metadata_rows(model.metadata) if model is not None else []
        self._metadata.set_rows(metadata, (200, 0))
        self._tabs.setTabText(3, tr("Metadata {count}", count=len(metadata)))

    def _fill_facts(self, shown: ModelRow) -> None:
        empty_layout(self._grid)
        if shown.model is None:
            return
        for i, (label, value) in enumerate(fact_pairs(shown.model, shown.kv_bytes_per_token)):
            at, side = divmod(i, 2)
            self._grid.addWidget(Label(label, "note", "text2"), at, side * 2, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(Label(value, wrap=True), at, side * 2 + 1, Qt.AlignmentFlag.AlignTop)
        self._grid.setColumnStretch(1, 5)
        self._grid.setColumnStretch(3, 4)

    @Slot(int)
    def _layer_chosen(self, index: int) -> None:
        bars = self._picture.bars
        model: ModelFile | None = self._row.model if self._row is not None else None
        if model is None or not 0 <= index < len(bars):
            self._layer.setText(tr("Point at a layer, or use the arrow keys.") if bars else "")
            self._layer.look(role="text2", weight=400)
            self._layer_parts.setText("")
            return
        bar = bars[index]
        size = f"{bar.total / MIB:.0f} MiB" if bar.total >= MIB else bytes_text(bar.total)
        self._layer.look(role="text", weight=500)
        self._layer.setText(f"{bar.name}, {size}")
        first = 1 if model.facts.input_bytes else 0
        layer = index - first if 0 <= index - first < len(model.facts.layer_bytes) else None
        self._layer_parts.setText(tensors_words(model, bar.name, layer))
        self._picture.setAccessibleDescription(f"{self._layer.full_text()} {self._layer_parts.full_text()}")

    # -- acts --------------------------------------------------------------------------------------------------------

    def _open_in_launch(self) -> None:
        if self._row is not None:
            self.launch_wanted.emit(self._row.path)

    def _copy_path(self) -> None:
        if self._row is not None:
            QGuiApplication.clipboard().setText(str(self._row.path))

    def _show_file(self) -> None:
        if self._row is not None:
            show_in_folder(self._row.path)

    def _menu(self) -> None:
        menu = QMenu(self)
        hashing = menu.addAction(icon("check", "text2"), tr("Work out the SHA-256 of all bytes"))
        hashing.triggered.connect(self.hash_file)
        copy = menu.addAction(icon("copy", "text2"), tr("Copy the path"))
        copy.triggered.connect(self._copy_path)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self._more.mapToGlobal(self._more.rect().bottomLeft()))

    @Slot()
    def hash_file(self) -> None:
        """Reads the whole file, with progress; can be cancelled."""
        if self._row is None or self._hash_job is not None:
            return
        shown = self._row
        paths = [s.path for s in shown.model.shards if s.size_bytes is not None] if shown.model else [shown.path]
        job = bridge.Job("hash")
        self._hash_job = job
        self._progress.follow(job, tr("Reading all bytes"))

        def work() -> str | None:
            return gguf.full_hash(paths, lambda done, total: job.report(done // MIB, max(total // MIB, 1)),
                                  job.cancelled)

        job.ended.connect(self._hash_ended)
        bridge.run(work, self._hashed, self._hash_failed, self, name="hash", job=job)

    @Slot()
    def _hash_ended(self) -> None:
        self._hash_job = None

    def _hashed(self, digest: str | None) -> None:
        self._hash_job = None
        if digest:
            self._hash.setText(tr("SHA-256 {digest}", digest=digest))
            self._hash.show()

    def _hash_failed(self, error: AppError) -> None:
        self._hash_job = None
        self._hash.setText(str(error))
        self._hash.show()


class _Swatch(QWidget):
    """A legend's sample of a kind of weights."""

    def __init__(self, kind: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = kind
        self.setFixedSize(theme().px(10), theme().px(10))

    def paintEvent(self, event: object) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), kind_colour(self._kind))
        if self._kind == "embedding":
            draw_pattern(painter, QRectF(self.rect()), "uprights", theme().pattern_ink(), 1.0)
        painter.end()


def show_in_folder(path: Path) -> None:
    """The file, chosen, in the system's file browser; where there is no such call, its folder."""
    if sys.platform == "win32":
        subprocess.Popen(["explorer", "/select,", str(path)])
    elif sys.platform == "darwin":
        subprocess.Popen(["open", "-R", str(path)])
    else:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))
