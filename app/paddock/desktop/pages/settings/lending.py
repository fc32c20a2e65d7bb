"""Lending this computer's devices: llama.cpp's ggml-rpc-server, started and stopped here, ended with Paddock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.launch.fields import combo, spin
from paddock.desktop.pages.settings.parts import line
from paddock.desktop.parts.basic import IconLabel, Label, button, column, row
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.engine.rpc import DEFAULT_PORT
from paddock.errors import AppError
from paddock.work.rpc_server import RpcOptions, RpcServer, RpcState

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class Lending(QWidget):
    """One server at a time; it listens for this computer alone unless told otherwise."""

    _moved = Signal()
    """From the server's thread: its state is another."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._server: RpcServer | None = None
        self._busy = False
        self._problem = ""
        self.host = combo(tr("Listen on"))
        self.host.setMinimumWidth(theme().px(272))
        self.host.addItem(tr("127.0.0.1, this computer alone"), "127.0.0.1")
        self.host.addItem(tr("0.0.0.0, every network"), "0.0.0.0")
        self.host.activated.connect(self.refresh)
        self.port = spin(tr("Port"), 1, 65535)
        self.port.setValue(DEFAULT_PORT)
        self.threads = spin(tr("Threads"), 0, 4096)
        self.threads.setSpecialValueText(tr("half the cores"))
        self.threads.setMinimumWidth(theme().px(136))
        self.devices = QLineEdit()
        self.devices.setAccessibleName(tr("Devices to lend"))
        self.devices.setPlaceholderText(tr("all GPUs, else the processor"))
        self.devices.setMinimumWidth(theme().px(220))
        self.cache = QCheckBox(tr("Keep received weights on this computer"))
        self.act = button(tr("Start"), "play", self._act)
        self._sign = IconLabel("circle-dashed", 16, "text3", says="")
        self._state = Label("", "note", "text2", wrap=True)
        state = QWidget()
        words = row(self.act, self._sign, self._state, gap=8)
        words.setStretch(2, 1)
        state.setLayout(words)
        title = Label(tr("Lend this computer’s devices to llama.cpp on another"), weight=500)
        title.setContentsMargins(0, 8, 0, 0)
        self.setLayout(column(
            title, line(tr("Listen on"), self.host), line(tr("Port"), self.port), line(tr("Threads"), self.threads),
            line(tr("Devices"), self.devices, note=tr("Names as the engine lists them, with commas between.")),
            line("", self.cache), line("", state), gap=4))
        self._moved.connect(self.refresh)
        desk.enginesChanged.connect(self.refresh)
        self.refresh()

    def options(self) -> RpcOptions:
        """What the fields say."""
        names = tuple(part.strip() for part in self.devices.text().split(",") if part.strip())
        return RpcOptions(str(self.host.currentData()), self.port.value(), self.threads.value() or None, names,
                          self.cache.isChecked())

    @Slot()
    def refresh(self) -> None:
        """Fields are locked while it serves; a button that cannot act says why beside it."""
        state = self._server.state if self._server is not None else None
        serving = state is RpcState.SERVING
        engine = self._desk.engine()
        lacking = engine is None or engine.tool("rpc-server") is None
        for field in (self.host, self.port, self.threads, self.devices, self.cache):
            field.setEnabled(not serving and not self._busy and not lacking)
        self.act.setText(tr("Stop") if serving else tr("Start"))
        self.act.setEnabled(not self._busy and (serving or not lacking))
        icon, role, words = self._words(serving, lacking)
        self._sign.show_icon(icon, role)
        self._sign.setAccessibleName(words)
        self._state.setText(words)

    def _words(self, serving: bool, lacking: bool) -> tuple[str, str, str]:
        if self._busy:
            return "loader", "text2", tr("Stopping…") if serving else tr("Starting…")
        if serving and self._server is not None:
            return "circle-check", "ok", tr("Serving at {endpoint}, pid {pid}. It ends with Paddock.",
                                            endpoint=str(self._server.options.endpoint), pid=self._server.pid)
        if self._server is not None and self._server.problem is not None:
            return "circle-x", "bad", str(self._server.problem)
        if self._problem:
            return "circle-x", "bad", self._problem
        if lacking:
            return "lock", "text2", tr("This engine has no ggml-rpc-server: it is built with GGML_RPC=ON.")
        if self.options().is_open:
            return "triangle-alert", "warn", tr("Everybody in your networks will reach it, without a password.")
        return "circle-dashed", "text3", tr("Not running.")

    @Slot()
    def _act(self) -> None:
        hosts, engine, server = self._desk.workspace.rpc, self._desk.engine(), self._server
        self._problem, self._busy = "", True
        if server is not None and server.state is RpcState.SERVING:
            bridge.run(lambda: hosts.stop(server), self._stopped, self._failed, self, name="rpc server")
        else:
            options = self.options()
            bridge.run(lambda: hosts.start(options, engine, changed=self._announce), self._started, self._failed,
                       self, name="rpc server")
        self.refresh()

    def _announce(self) -> None:
        """From the server's thread, which may outlive the window."""
        if shiboken6.isValid(self):
            self._moved.emit()

    def _started(self, server: RpcServer) -> None:
        self._server, self._busy = server, False
        self.refresh()

    def _stopped(self, _nothing: object) -> None:
        self._server, self._busy = None, False
        self.refresh()

    def _failed(self, error: AppError) -> None:
        self._problem, self._busy, self._server = str(error), False, None
        self.refresh()
