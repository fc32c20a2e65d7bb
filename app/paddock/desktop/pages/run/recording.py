"""The recording proxy on the page Run: off with a word of what it is for, or on with its address in sight."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QDialog, QFormLayout, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.launch.fields import spin
from paddock.desktop.parts.basic import IconLabel, Label, button, column, row, rule, tool_button
from paddock.desktop.parts.signs import Chip
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.server.model import State

_WIDTH = 480


class RecordingRow(QWidget):
    """`show_run` follows one run; nothing is shown of a server that somebody else started."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run: Any = None
        self._job: bridge.Job | None = None
        self._icon = IconLabel("link", 14, "text2")
        self._words = Label("", "note", "text2", elide="middle")
        self._texts = Chip(tr("texts are kept"), "eye", "warn")
        self._texts.setToolTip(tr("Prompts and answers of this session are stored. Stop the recording to end it."))
        self.copy = tool_button("copy", tr("Copy the clients’ address"), self._copy, quiet=True)
        self.go = button(tr("Record clients…"), None, self.ask, link=True, small=True)
        self.end = button(tr("Stop recording"), None, self._end, link=True, small=True)
        whole = row(self._icon, self._words, self._texts, self.copy, self.go, self.end, gap=8, margins=(12, 0, 8, 4))
        whole.setStretch(1, 1)
        self.setLayout(whole)
        self.hide()

    def show_run(self, run: Any) -> None:
        """Called whenever the run or its state changes."""
        self._run = run
        self._say()

    def _say(self) -> None:
        run = self._run
        ready = run is not None and not run.read_only and run.state is State.READY
        self.setVisible(ready)
        if not ready:
            return
        proxy = run.proxy
        on = proxy is not None
        self._icon.show_icon("circle-dot" if on else "link", "accent" if on else "text2")
        self._words.setText(tr("Clients use {url}", url=proxy.url) if on else tr("Who asks, and how fast it came?"))
        self._texts.setVisible(on and proxy.keep_texts)
        self.copy.setVisible(on)
        self.end.setVisible(on)
        self.go.setVisible(not on)
        self.go.setEnabled(self._job is None)

    def ask(self) -> None:
        """Port and consent, then it begins."""
        dialog = RecordingDialog(self)
        dialog.accepted.connect(lambda: self.begin(dialog.port.value(), dialog.texts.isChecked()))
        dialog.open()

    def begin(self, port: int, keep_texts: bool) -> None:
        """Start the proxy of the run that is shown."""
        run = self._run
        if run is None:
            return
        self._job = bridge.run(lambda: run.open_proxy(port, keep_texts=keep_texts), self._begun, self._failed, self,
                               name="proxy")
        self._say()
        self._words.setText(tr("Starting the recording…"))

    def _begun(self, _url: str) -> None:
        self._job = None
        self._say()

    def _failed(self, error: AppError) -> None:
        self._job = None
        self._say()
        said = (str(part) for part in (error.what, error.why) if part)
        self._words.setText(" ".join(said))
        self._words.setToolTip(str(error.hint or ""))

    def _end(self) -> None:
        run = self._run
        self._job = bridge.run(run.close_proxy, lambda _: self._begun(""), self._failed, self, name="proxy")
        self._say()

    @Slot()
    def _copy(self) -> None:
        proxy = self._run.proxy if self._run is not None else None
        if proxy is not None:
            QGuiApplication.clipboard().setText(proxy.url)


class RecordingDialog(QDialog):
    """What the proxy does, its port, and whether texts are kept."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Record clients"))
        self.setMinimumWidth(theme().px(_WIDTH))
        intro = Label(tr("A second address on this computer, for programs to use in place of the server’s. Every "
                         "request through it is recorded with its client, settings, first byte, gaps between tokens "
                         "and how it ended. What passes is not changed."), wrap=True)
        self.port = spin(tr("Port"), 0, 65535)
        self.port.setSpecialValueText(tr("any free port"))
        self.texts = QCheckBox(tr("Keep prompts and answers too"))
        caution = Label(tr("For this session only, in Paddock’s database on this computer. Without it no text is kept. "
                           "Reports and exports never hold texts."), "note", "text2", wrap=True)
        form = QFormLayout()
        form.setHorizontalSpacing(theme().px(12))
        form.addRow(tr("Port"), self.port)
        go = button(tr("Start"), "circle-dot", self.accept, primary=True)
        go.setDefault(True)
        self.setLayout(column(intro, form, self.texts, caution, rule(),
                              row(None, go, button(tr("Cancel"), None, self.reject), gap=8), gap=12,
                              margins=(16, 16, 16, 12)))
