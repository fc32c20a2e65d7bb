"""The folders in which models are looked for."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog, QWidget

from paddock.desktop.pages.settings.parts import listing
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, row, tool_button
from paddock.desktop.tr import tr

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class FoldersSection(QWidget):
    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        holder, self._folder_list = listing()
        acts = QWidget()
        acts.setLayout(row(button(tr("Add folder…"), "folder-plus", self._add_folder), None))
        self.setLayout(column(holder, acts, gap=4))
        self.refresh()

    def refresh(self) -> None:
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
