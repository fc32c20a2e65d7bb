"""RPC hosts: addresses that are kept, asked on request, used by the plan; and a server of this computer's own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.settings.lending import Lending
from paddock.desktop.pages.settings.parts import listing
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, row, rule, tool_button
from paddock.desktop.parts.blocks import ProgressLine
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.work.rpc_hosts import WARNING, Probe, Reach, device_lines

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_SIGNS = {Reach.ANSWERS: ("circle-check", "ok"), Reach.IN_USE: ("circle-dot", "ok"), Reach.MUTE: ("loader", "warn"),
          Reach.ANSWERS_ALONE: ("triangle-alert", "warn"), Reach.FOREIGN: ("circle-x", "bad"),
          Reach.SILENT: ("circle-x", "bad")}


class RpcSection(QWidget):
    """Nothing is asked until a person presses Ask: a connection is a session there."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._found: dict[str, Probe] = {}
        self._asking: set[str] = set()
        self._buttons: dict[str, QAbstractButton] = {}
        self._shown_in_plan: list[str] = []
        warning = QWidget()
        sign = IconLabel("triangle-alert", 16, "warn", says=tr("Warning"))
        words = row(sign, Label(str(WARNING), "note", wrap=True), gap=8)
        words.setAlignment(sign, Qt.AlignmentFlag.AlignTop)
        words.setStretch(1, 1)
        warning.setLayout(words)
        self._missing = Label("", "note", "text2", wrap=True)
        holder, self._list = listing()
        self.address = QLineEdit()
        self.address.setAccessibleName(tr("Address of an RPC host"))
        self.address.setPlaceholderText(tr("HOST:PORT"))
        self.address.setFixedWidth(theme().px(220))
        self.address.returnPressed.connect(self._add)
        self.add = button(tr("Add"), "plus", self._add)
        self._wrong = Label("", "note", "bad", wrap=True)
        self._wrong.hide()
        self._progress = ProgressLine()
        acts = QWidget()
        acts.setLayout(row(self.address, self.add, self._progress, None))
        self.lending = Lending(desk)
        self.setLayout(column(warning, self._missing, holder, acts, self._wrong, self.lending, gap=8))
        desk.enginesChanged.connect(self._about_engine)
        desk.planChanged.connect(self._plan_changed)
        self._about_engine()
        self.refresh()

    @Slot()
    def _about_engine(self) -> None:
        engine = self._desk.engine()
        without = engine is not None and engine.knows("--rpc") is False
        self._missing.setVisible(without)
        if without and engine is not None:
            self._missing.setText(tr("RPC is not in this engine ({engine}): it must be built with GGML_RPC=ON. Hosts "
                                     "can be kept and asked, not used.", engine=engine.name))

    @Slot(object)
    def _plan_changed(self, _plan: object) -> None:
        if self._in_plan() != self._shown_in_plan:
            self.refresh()

    @Slot()
    def refresh(self) -> None:
        """The kept addresses, and what was found when they were asked. The button that had the focus keeps it."""
        held = next((name for name, one in self._buttons.items() if one.hasFocus()), None)
        self._buttons = {}
        self._shown_in_plan = self._in_plan()
        empty_layout(self._list)
        kept = self._desk.workspace.rpc.kept
        if not kept:
            none = tr("No host is kept. Add the address of a computer on which ggml-rpc-server runs.")
            self._list.addWidget(Label(none, "note", "text2", wrap=True))
        for name in kept:
            self._list.addWidget(self._host(name))
            self._list.addWidget(rule())
        if held in self._buttons:
            self._buttons[held].setFocus(Qt.FocusReason.OtherFocusReason)

    def _host(self, name: str) -> QWidget:
        found = self._found.get(name)
        icon, role = _SIGNS[found.reach] if found is not None else ("circle-dashed", "text3")
        state = str(found.text) if found is not None else tr("Not asked yet.")
        if name in self._asking:
            icon, role, state = "loader", "text2", tr("Asking…")
        sign = IconLabel(icon, 16, role, says=state)
        parts = [Label(name, "mono", elide="middle"), Label(state, "note", "text2", wrap=True)]
        if found is not None and name not in self._asking:
            parts += [Label(words, "note", "text") for words in device_lines(found.devices)]
            parts += [Label(str(found.hint), "note", "text2", wrap=True)] if found.hint is not None else []
        used = name in self._in_plan()
        ask = button(tr("Ask"), None, partial(self._ask, name), small=True, name=tr("Ask {host}", host=name))
        use = button(tr("Take out of the plan") if used else tr("Use in the plan"), None, partial(self._use, name),
                     small=True, name=tr("Take {host} out of the plan", host=name) if used
                     else tr("Use {host} in the plan", host=name))
        forget = tool_button("trash-2", tr("Forget {host}", host=name), partial(self._forget, name))
        self._buttons |= {f"ask {name}": ask, f"use {name}": use, f"forget {name}": forget}
        made = QWidget()
        whole = row(sign, column(*parts, gap=1), ask, use, forget, gap=8, margins=(0, 8, 0, 8))
        for one in (sign, ask, use, forget):
            whole.setAlignment(one, Qt.AlignmentFlag.AlignTop)
        whole.setStretch(1, 1)
        made.setLayout(whole)
        return made

    def _in_plan(self) -> list[str]:
        return [part.strip() for part in (self._desk.plan.get("rpc") or "").split(",") if part.strip()]

    def _use(self, name: str) -> None:
        """--rpc of the plan gains or loses it; the rest of the plan stays."""
        named = self._in_plan()
        named = [one for one in named if one != name] if name in named else [*named, name]
        if named:
            self._desk.set("rpc", ",".join(named))
        else:
            self._desk.unset("rpc")

    @Slot()
    def _add(self) -> None:
        try:
            self._desk.workspace.rpc.add(self.address.text())
        except AppError as error:
            self._wrong.setText(str(error))
            self._wrong.show()
            self.address.setFocus()
            return
        self._wrong.hide()
        self.address.clear()
        self._desk.settingsChanged.emit()

    def _forget(self, name: str) -> None:
        self._desk.workspace.rpc.remove(name)
        self._found.pop(name, None)
        self._desk.settingsChanged.emit()

    def _ask(self, name: str) -> None:
        if name in self._asking:
            return
        engine, hosts = self._desk.engine(), self._desk.workspace.rpc
        self._asking.add(name)
        self.refresh()
        job = bridge.run(lambda: hosts.probe(name, engine), self._asked, partial(self._not_asked, name), self,
                         name="rpc probe")
        self._progress.follow(job, tr("Asking {host}", host=name), cancellable=False)

    def _asked(self, found: Probe) -> None:
        self._asking.discard(found.endpoint)
        self._found[found.endpoint] = found
        self.refresh()

    def _not_asked(self, name: str, error: AppError) -> None:
        self._asking.discard(name)
        self.refresh()
        self._desk.failed.emit(error)
