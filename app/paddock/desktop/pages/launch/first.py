"""The first steps: this computer, an engine, a model; each says what was found and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFileDialog, QGridLayout, QScrollArea, QWidget

from paddock.desktop.icons import paint_icon
from paddock.desktop.pages.launch.serving import choose_folder
from paddock.desktop.parts.basic import Label, button, column, empty_layout, panel, row, rule
from paddock.desktop.parts.blocks import ProgressLine
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.units import gib_text

if TYPE_CHECKING:
    from paddock.desktop.bridge import Job
    from paddock.desktop.state import Desk


class StepMark(QWidget):
    """A number in a ring, or a check mark when the step is done."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number, self._done = number, False
        self.setFixedSize(theme().px(24), theme().px(24))
        self.set_done(False)

    def set_done(self, done: bool) -> None:
        self._done = done
        self.setAccessibleName(tr("done") if done else tr("step {number}", number=self._number))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        if self._done:
            paint_icon(painter, "circle-check", self.rect(), "ok")
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(t.color("accent"), 1.4))
        painter.drawEllipse(QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5))
        painter.setFont(t.font("note", 500))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, str(self._number))


class Step(QWidget):
    """Mark, title, a sentence, and room below."""

    def __init__(self, number: int, title: str) -> None:
        super().__init__()
        self.mark = StepMark(number)
        self.words = Label("", role="text2", wrap=True)
        self.body = column(gap=8)
        inner = column(Label(title, "title", weight=600), self.words, self.body, gap=6)
        line = row(self.mark, inner, gap=16, margins=(24, 16, 24, 16))
        line.setAlignment(self.mark, Qt.AlignmentFlag.AlignTop)
        line.setStretch(1, 1)
        self.setLayout(line)


class FirstSteps(QScrollArea):
    """Shown on Launch while there is no plan, and on Models while there is no file; `find` looks for one elsewhere."""

    def __init__(self, desk: Desk, find: Callable[[], object] | None = None) -> None:
        super().__init__()
        self._desk, self._find = desk, find
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self._title = Label("", "figure", weight=600, wrap=True)
        self._computer = Step(1, tr("This computer"))
        self._engine = Step(2, tr("Find llama.cpp"))
        self._model = Step(3, tr("Point at a model"))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(24)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        self._computer.body.addLayout(self._grid)
        self._progress = ProgressLine()
        self._build_acts()
        head = QWidget()
        head.setLayout(column(self._title, margins=(24, 20, 24, 4)))
        steps = column(head, self._computer, rule(), self._engine, rule(), self._model, None, gap=0)
        self.setWidget(panel("base", steps))
        desk.enginesChanged.connect(self.refresh)
        desk.machineChanged.connect(self.refresh)
        desk.modelsChanged.connect(self.refresh)
        desk.profileChanged.connect(self.refresh)
        desk.scanStarted.connect(self._scanning)
        self.refresh()

    def _build_acts(self) -> None:
        self.choose_engine = button(tr("Choose llama-server…"), "folder", self._choose_engine, primary=True)
        again = button(tr("Look again"), "refresh-cw", lambda: self._desk.find_engines(refresh=True))
        self._engine_acts = QWidget()
        self._engine_acts.setLayout(row(self.choose_engine, again, None))
        self._engine.body.addWidget(self._engine_acts)
        self.open_file = button(tr("Open a file…"), "file", self._open)
        self.add_folder = button(tr("Add folder…"), "folder-plus", self._add_folder)
        self.look = button(tr("Look for models"), "search", lambda: self._desk.scan())
        self.choose_model = button(tr("Choose a model"), "boxes", lambda: self._desk.pageWanted.emit("models", None),
                                   primary=True)
        acts = [self.choose_model, self.open_file, self.add_folder, self.look]
        if self._find is not None:
            acts.append(button(tr("Find on Hugging Face"), "cloud", self._find))
        self._model.body.addLayout(row(*acts, None))
        self._model.body.addWidget(self._progress)
        self.serve_folder = button(tr("Serve a folder of models…"), "boxes", lambda: choose_folder(self, self._desk))
        self._model.body.addLayout(row(
            self.serve_folder, Label(tr("One server for all of them, each loaded when it is asked for."), "note",
                                     "text2", wrap=True), gap=12))
        self._saved = Label(tr("A profile that you saved can be opened at the top right."), "note", "text2", wrap=True)
        self._saved.hide()
        self._model.body.addWidget(self._saved)
        self._model.body.addWidget(Label(tr("A GGUF file can also be dropped on this window. If you have a command "
                                            "line already, press {keys} and paste it.", keys="Ctrl+L"),
                                         "note", "text2", wrap=True))

    @Slot()
    def refresh(self) -> None:
        """Say what is there and what is missing."""
        desk = self._desk
        usable = [e for e in desk.engines or [] if e.error is None]
        self._computer.mark.set_done(desk.machine is not None)
        self._computer.words.setText(tr("Read just now. Nothing to do.") if desk.machine is not None else
                                     tr("Reading what this computer has…"))
        self._engine.mark.set_done(bool(usable))
        self._engine.words.setText(self._engine_words(len(usable)))
        self._engine_acts.setVisible(desk.engines is not None and not usable)
        found = len(desk.entries or [])
        self._model.mark.set_done(False)
        self._model.words.setText(self._model_words(found))
        self.choose_model.setVisible(found > 0)
        self.look.setVisible(desk.entries is None)
        self._saved.setVisible(bool(desk.profiles.names))
        if desk.engines is None:
            self._title.setText(tr("Looking at what is here"))
        else:
            self._title.setText(tr("Choose a model, then you can launch") if usable else
                                tr("Two things to find, then you can launch"))
        self._show_machine()

    def _engine_words(self, usable: int) -> str:
        engines = self._desk.engines
        if engines is None:
            return tr("Looking in the search path and the usual places…")
        if usable:
            first = next(e for e in engines if e.error is None)
            known = sum(1 for option in first.options if not option.removed)
            return tr("{name} answers, with {known} options.", name=first.name, known=known)
        if engines:
            return tr("{count} was found, but did not answer: {why}",
                      plural="{count} were found, but none answers: {why}", count=len(engines),
                      why=str(engines[0].error))
        return tr("Paddock drives your own llama.cpp. It looked for llama-server and llama in the search path and the "
                  "usual places, and found none.")

    def _model_words(self, found: int) -> str:
        if self._desk.entries is None:
            return tr("Open a GGUF file, add the folder where yours are, or let Paddock look in the usual places.")
        if not found:
            return tr("No GGUF file in the usual places. Add a folder, or drop a file on this window.")
        return tr("{count} model file was found.", plural="{count} model files were found.", count=found)

    def _show_machine(self) -> None:
        empty_layout(self._grid)
        machine = self._desk.machine
        if machine is None:
            return
        rows = [(d.name, d.description, d.total_bytes, d.free_bytes) for d in machine.devices]
        if not rows:
            rows = [(tr("GPU {number}", number=g.index), g.name, g.total_bytes, None) for g in machine.gpus]
        cores = tr("{name}, {cores} cores", name=machine.cpu_name or tr("processor"),
                   cores=machine.physical_cores or machine.logical_cores)
        rows.append((tr("RAM"), cores, machine.ram_total_bytes, machine.ram_available_bytes))
        for index, (name, what, total, free) in enumerate(rows):
            figures = (tr("{size} GiB", size=gib_text(total, 1)),
                       tr("{size} free", size=gib_text(free, 1)) if free is not None else "")
            for place, label in enumerate((Label(name, "note", weight=500), Label(what, "note", elide="end"),
                                           Label(figures[0], "note"), Label(figures[1], "note", "text2"))):
                self._grid.addWidget(label, index, place)
        if not machine.devices:
            self._grid.addWidget(Label(self._no_device_words(), "note", "text2", wrap=True), len(rows), 0, 1, 4)

    def _no_device_words(self) -> str:
        if any(e.error is None for e in self._desk.engines or []):
            return tr("No GPU that the engine can use was found: models run on the processor.")
        return tr("Which of its GPUs can be used is known once an engine is found.")

    @Slot(object)
    def _scanning(self, job: Job) -> None:
        self._progress.follow(job, tr("Looking for models"))

    def _choose_engine(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Choose llama-server"))
        if path:
            self._desk.add_engine(path)

    def _open(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Choose a model file"), "",
                                              tr("Model files (*.gguf);;All files (*)"))
        if path:
            self._desk.open_model(path)

    def _add_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Add a folder of models"))
        if folder:
            self._desk.add_folder(folder)
