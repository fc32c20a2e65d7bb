"""The engines: what was found, which is the default, others to add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from paddock.desktop.pages.settings.parts import listing
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, row, rule, tool_button
from paddock.desktop.parts.blocks import ProgressLine
from paddock.desktop.parts.signs import Tag
from paddock.desktop.tr import tr
from paddock.engine.model import Engine

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class EnginesSection(QWidget):
    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        holder, self._engine_list = listing()
        self._looking = ProgressLine()
        acts = QWidget()
        acts.setLayout(row(button(tr("Add a program…"), "plus", self._add_engine),
                           button(tr("Look again"), "refresh-cw", self._look_again), self._looking, None))
        self.setLayout(column(holder, acts, gap=4))
        desk.enginesChanged.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
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
