"""Settings: what is chosen once for all."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, QSignalBlocker, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QScrollArea, QVBoxLayout, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.launch.fields import combo, spin
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, panel, row, rule, tool_button
from paddock.desktop.parts.blocks import PageHeader, ProgressLine, Segments
from paddock.desktop.parts.signs import Tag
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.engine.model import Engine
from paddock.errors import AppError
from paddock.text import use_language

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_WIDTH = 760
_LABELS = 184


def line(label: str, *controls: QWidget | None, note: str = "") -> QWidget:
    """Label | controls, and a note below them."""
    name = Label(label, wrap=True)
    name.setFixedWidth(theme().px(_LABELS))
    right = column(row(*controls, None, gap=8), gap=4)
    if note:
        right.addWidget(Label(note, "note", "text2", wrap=True))
    inputs = [c for c in controls if c is not None and c.focusPolicy() != Qt.FocusPolicy.NoFocus]
    if inputs:
        name.setBuddy(inputs[0])
    made = QWidget()
    whole = row(name, right, gap=16, margins=(0, 4, 0, 4))
    whole.setStretch(1, 1)
    whole.setAlignment(name, Qt.AlignmentFlag.AlignTop)
    name.setMinimumHeight(theme().px(28))
    made.setLayout(whole)
    return made


class SettingsPage(QWidget):
    """Every change holds at once and is written at once."""

    icon = "sliders-horizontal"

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.title = tr("Settings")
        self._desk = desk
        inner = panel("base")
        box = QVBoxLayout(inner)
        box.setContentsMargins(24, 8, 24, 24)
        box.setSpacing(4)
        for title, parts in ((tr("Look"), self._look()), (tr("Engines"), self._engines()),
                             (tr("Model folders"), self._folders()), (tr("Launching"), self._launching()),
                             (tr("Sessions and data"), self._data())):
            heading = Label(title, "title", weight=600)
            heading.setContentsMargins(0, 12, 0, 4)
            box.addWidget(heading)
            for part in parts:
                box.addWidget(part)
            box.addSpacing(8)
            box.addWidget(rule())
        box.addStretch(1)
        inner.setMaximumWidth(theme().px(_WIDTH))
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(inner)
        whole = panel("base", column(PageHeader(self.title), scroll, gap=0))
        self.setLayout(column(whole, gap=0))
        desk.enginesChanged.connect(self._show_engines)
        desk.previewChanged.connect(self._show_additions)
        desk.settingsChanged.connect(self._settings_changed)
        self._settings_changed()

    # -- look ----------------------------------------------------------------------------------------------------

    def _look(self) -> list[QWidget]:
        settings = self._desk.workspace.settings
        modes = (("system", tr("As the system")), ("light", tr("Light")), ("dark", tr("Dark")))
        self.theme = Segments(modes, tr("Theme"))
        self.theme.select(settings.theme)
        self.theme.chosen.connect(self._themed)
        self.language = combo(tr("Language"))
        self.language.setMinimumWidth(theme().px(160))
        for code, name in (("", tr("As the system")), ("en", "English"), ("it", "Italiano")):
            self.language.addItem(name, code)
        self.language.setCurrentIndex(max(0, self.language.findData(settings.language)))
        self.language.activated.connect(self._spoken)
        self.scale = QComboBox()
        self.scale.setAccessibleName(tr("Text size"))
        for percent in (80, 90, 100, 110, 125, 150, 175, 200):
            self.scale.addItem(tr("{percent} %", percent=percent), percent / 100)
        self.scale.setCurrentIndex(max(0, self.scale.findData(settings.font_scale)))
        self.scale.activated.connect(self._scaled)
        return [line(tr("Theme"), self.theme),
                line(tr("Language"), self.language),
                line(tr("Text size"), self.scale, note=tr("On top of the system’s own."))]

    @Slot(str)
    def _themed(self, mode: str) -> None:
        self._desk.workspace.settings.theme = mode
        theme().use(mode, self._desk.workspace.settings.font_scale)
        self._desk.save_settings()

    @Slot(int)
    def _spoken(self, index: int) -> None:
        code = self.language.itemData(index)
        self._desk.workspace.settings.language = code
        use_language(code or QLocale.system().name())
        self._desk.save_settings()
        self._desk.lookChanged.emit()

    @Slot(int)
    def _scaled(self, index: int) -> None:
        scale = float(self.scale.itemData(index))
        self._desk.workspace.settings.font_scale = scale
        theme().use(theme().mode, scale)
        self._desk.save_settings()
        self._desk.lookChanged.emit()

    # -- engines -------------------------------------------------------------------------------------------------

    def _engines(self) -> list[QWidget]:
        self._engine_list = QVBoxLayout()
        self._engine_list.setSpacing(0)
        self._engine_list.setContentsMargins(0, 0, 0, 0)
        holder = QWidget()
        holder.setLayout(self._engine_list)
        self._looking = ProgressLine()
        acts = QWidget()
        acts.setLayout(row(button(tr("Add a program…"), "plus", self._add_engine),
                           button(tr("Look again"), "refresh-cw", self._look_again), self._looking, None))
        return [holder, acts]

    @Slot()
    def _show_engines(self) -> None:
        empty_layout(self._engine_list)
        engines = self._desk.engines
        if engines is None:
            self._engine_list.addWidget(Label(tr("Looking in the search path and the usual places…"), "note", "text2"))
            return
        if not engines:
            none = tr("None was found. Add llama-server, or llama, by hand.")
            self._engine_list.addWidget(Label(none, "note", "text2"))
        default = self._default(engines)
        for engine in engines:
            self._engine_list.addWidget(self._engine_row(engine, engine is default))
            self._engine_list.addWidget(rule())

    def _default(self, engines: list[Engine]) -> Engine | None:
        wanted = self._desk.workspace.settings.default_engine
        usable = [e for e in engines if e.error is None]
        return next((e for e in usable if wanted and wanted in (e.name, str(e.path))), usable[0] if usable else None)

    def _engine_row(self, engine: Engine, default: bool) -> QWidget:
        good = engine.error is None
        sign = IconLabel("circle-check" if good else "circle-x", 16, "ok" if good else "bad",
                         says=tr("answers") if good else tr("does not answer"))
        devices = ", ".join(d.name for d in engine.devices) or tr("CPU only")
        facts = tr("{version}; {devices}; found: {source}", version=engine.version or tr("version not told"),
                   devices=devices, source=engine.source) if good else str(engine.error)
        words = column(Label(engine.name, weight=500, elide="end"), Label(facts, "note", "text2", wrap=True),
                       Label(str(engine.path), "flag", "text2", elide="middle"), gap=1)
        made = QWidget()
        whole = row(sign, words, gap=12, margins=(0, 8, 0, 8))
        whole.setAlignment(sign, Qt.AlignmentFlag.AlignTop)
        whole.setStretch(1, 1)
        if default:
            whole.addWidget(Tag(tr("default")), 0, Qt.AlignmentFlag.AlignTop)
        elif good:
            whole.addWidget(button(tr("Make default"), None, lambda: self._make_default(engine), small=True,
                                   name=tr("Make {name} the default", name=engine.name)), 0, Qt.AlignmentFlag.AlignTop)
        if str(engine.path) in self._desk.workspace.settings.engine_paths:
            forget = tool_button("trash-2", tr("Forget {name}", name=engine.name), lambda: self._forget(engine))
            whole.addWidget(forget, 0, Qt.AlignmentFlag.AlignTop)
        made.setLayout(whole)
        return made

    def _make_default(self, engine: Engine) -> None:
        self._desk.workspace.settings.default_engine = str(engine.path)
        self._desk.save_settings()
        self._desk.refresh_preview()

    def _forget(self, engine: Engine) -> None:
        settings = self._desk.workspace.settings
        settings.engine_paths = [p for p in settings.engine_paths if p != str(engine.path)]
        self._desk.save_settings()
        self._look_again()

    def _add_engine(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Choose llama-server"))
        if path:
            self._desk.add_engine(path)

    def _look_again(self) -> None:
        self._looking.follow(self._desk.find_engines(refresh=True), tr("Asking the engines"), cancellable=False)

    # -- folders -------------------------------------------------------------------------------------------------

    def _folders(self) -> list[QWidget]:
        self._folder_list = QVBoxLayout()
        self._folder_list.setSpacing(0)
        self._folder_list.setContentsMargins(0, 0, 0, 0)
        holder = QWidget()
        holder.setLayout(self._folder_list)
        acts = QWidget()
        acts.setLayout(row(button(tr("Add folder…"), "folder-plus", self._add_folder), None))
        return [holder, acts]

    def _show_folders(self) -> None:
        empty_layout(self._folder_list)
        settings = self._desk.workspace.settings
        for folder in settings.model_folders:
            there = Path(folder).expanduser().is_dir()
            name = Label(folder, "mono", elide="middle")
            state = Label("" if there else tr("not there"), "note", "warn")
            forget = tool_button("trash-2", tr("Forget {folder}", folder=folder), partial(self._drop_folder, folder))
            made = QWidget()
            whole = row(IconLabel("folder", 16), name, state, forget, margins=(0, 4, 0, 4))
            whole.setStretch(1, 1)
            made.setLayout(whole)
            self._folder_list.addWidget(made)
        note = tr("The caches of Hugging Face, llama.cpp, LM Studio and Ollama are looked into as well.")
        self._folder_list.addWidget(Label(note, "note", "text2", wrap=True))

    def _add_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Add a folder of models"))
        if folder:
            self._desk.add_folder(folder)

    def _drop_folder(self, folder: str) -> None:
        settings = self._desk.workspace.settings
        settings.model_folders = [f for f in settings.model_folders if f != folder]
        self._desk.save_settings()

    # -- launching -----------------------------------------------------------------------------------------------

    def _launching(self) -> list[QWidget]:
        settings = self._desk.workspace.settings
        self.keep = QCheckBox(tr("Servers keep serving"))
        self.keep.setChecked(settings.keep_serving)
        self.keep.toggled.connect(self._kept)
        self.restarts = spin(tr("Restarts after a crash"), 0, 20)
        self.restarts.setSpecialValueText(tr("none"))
        self.restarts.setValue(settings.restart_limit)
        self.restarts.valueChanged.connect(self._restarted)
        self._additions = QVBoxLayout()
        self._additions.setSpacing(0)
        self._additions.setContentsMargins(0, 0, 0, 0)
        holder = QWidget()
        holder.setLayout(self._additions)
        self.ask = QCheckBox(tr("Ask first while requests are being answered"))
        self.ask.setChecked(settings.confirm_stop)
        self.ask.toggled.connect(self._asked)
        self.correct = QCheckBox(tr("Correct them by what earlier launches took"))
        self.correct.setChecked(settings.correct_estimates)
        self.correct.toggled.connect(self._corrected)
        self.forget = button(tr("Forget what was learned"), None, self._forget_corrections, small=True)
        learned = tr("Only where a launch took more or less than the stated range, on the same model, engine and "
                     "device; the estimate says so.")
        return [line(tr("Estimates"), self.correct, note=learned), line("", self.forget),
                line(tr("When a server is stopped"), self.ask), line(tr("When Paddock quits"), self.keep),
                line(tr("Restarts after a crash"), self.restarts),
                line(tr("Paddock adds"), holder,
                     note=tr("To each command, shown dimmed in the command line, never saved with a profile."))]

    @Slot()
    def _show_additions(self) -> None:
        preview = self._desk.preview
        command = preview.command if preview is not None else None
        active = {a.id: a for a in command.additions} if command is not None else {}
        ids = list(dict.fromkeys([*active, *self._desk.workspace.settings.additions_off]))
        shown = [(i, i in active) for i in ids]
        if shown == getattr(self, "_shown_additions", None):
            return
        self._shown_additions = shown
        empty_layout(self._additions)
        if not ids:
            self._additions.addWidget(Label(tr("Known once there is an engine and a model."), "note", "text2"))
        for addition_id in ids:
            addition = active.get(addition_id)
            words = " ".join([*addition.argv, *(f"{k}={v}" for k, v in addition.environment)]) if addition else ""
            box = QCheckBox(words or addition_id)
            box.setAccessibleName(tr("Add {what}", what=words or addition_id))
            box.setChecked(addition is not None)
            box.setFont(theme().font("mono"))
            box.toggled.connect(lambda on, chosen=addition_id: self._desk.switch_addition(chosen, on))
            self._additions.addWidget(box)
            if addition is not None and str(addition.reason):
                reason = Label(str(addition.reason), "note", "text2", wrap=True)
                reason.setContentsMargins(24, 0, 0, 4)
                self._additions.addWidget(reason)

    @Slot(bool)
    def _kept(self, on: bool) -> None:
        self._desk.workspace.settings.keep_serving = on
        self._desk.keep_serving = on
        self._desk.save_settings()

    @Slot(bool)
    def _corrected(self, on: bool) -> None:
        self._desk.workspace.settings.correct_estimates = on
        self._desk.save_settings()
        self._desk.refresh_preview()

    @Slot()
    def _forget_corrections(self) -> None:
        """Sessions stay; estimates are as if nothing had been launched yet."""
        self.forget.setEnabled(False)
        bridge.run(self._desk.workspace.forget_corrections, self._forgotten, self._not_forgotten, self,
                   name="forget corrections", in_order=True)

    def _forgotten(self, _count: int) -> None:
        self.forget.setText(tr("Forgotten"))
        self._desk.refresh_preview()

    def _not_forgotten(self, error: AppError) -> None:
        self.forget.setEnabled(True)
        self._desk.failed.emit(error)

    @Slot(bool)
    def _asked(self, on: bool) -> None:
        self._desk.workspace.settings.confirm_stop = on
        self._desk.save_settings()

    @Slot(int)
    def _restarted(self, count: int) -> None:
        self._desk.workspace.settings.restart_limit = count
        self._desk.save_settings()

    # -- data ----------------------------------------------------------------------------------------------------

    def _data(self) -> list[QWidget]:
        settings = self._desk.workspace.settings
        self.days = spin(tr("Keep sessions, days"), 0, 3650)
        self.days.setSpecialValueText(tr("for ever"))
        self.days.setValue(settings.keep_sessions_days)
        self.days.setMinimumWidth(theme().px(112))
        self.days.valueChanged.connect(self._retained)
        root = self._desk.workspace.paths.root
        path = Label(str(root), "mono", elide="middle")
        show = button(tr("Show"), "folder", lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(root))),
                      name=tr("Show the data folder"))
        folder = QWidget()
        inner = row(path, show)
        inner.setStretch(0, 1)
        folder.setLayout(inner)
        name = Label(tr("Data folder"))
        name.setFixedWidth(theme().px(_LABELS))
        made = QWidget()
        whole = row(name, folder, gap=16, margins=(0, 4, 0, 4))
        whole.setStretch(1, 1)
        made.setLayout(whole)
        promise = tr("Everything that Paddock writes is in there. It sends nothing anywhere.")
        note = Label(promise, "note", "text2", wrap=True)
        note.setContentsMargins(theme().px(_LABELS) + 16, 0, 0, 0)
        kept = line(tr("Keep sessions for"), self.days, note=tr("In days; older ones are removed at the start."))
        return [kept, made, note]

    @Slot(int)
    def _retained(self, days: int) -> None:
        self._desk.workspace.settings.keep_sessions_days = days
        self._desk.save_settings()

    @Slot()
    def _settings_changed(self) -> None:
        settings = self._desk.workspace.settings
        with QSignalBlocker(self.keep):
            self.keep.setChecked(settings.keep_serving)
        self.theme.select(settings.theme)
        self._show_engines()
        self._show_folders()
        self._show_additions()
