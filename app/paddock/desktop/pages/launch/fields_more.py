"""Placement, draft and address: the editors that touch several options at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtWidgets import QLineEdit, QWidget

from paddock.desktop.asked import chosen_port
from paddock.desktop.pages.launch.costs import LOCAL_HOSTS
from paddock.desktop.pages.launch.drafting import drafts_itself, own_layers, pairing_models, take_draft, take_own
from paddock.desktop.pages.launch.fields import (
    Field,
    ask_for_model,
    combo,
    entry_name,
    entry_path,
    spin,
)
from paddock.desktop.parts.basic import Label, column, row
from paddock.desktop.parts.blocks import Segments
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.effective import DEFAULT_PORT
from paddock.launch.model import Plan
from paddock.paths import file_name

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

BY_HAND = ("gpu-layers", "n-cpu-moe", "override-tensor", "tensor-split", "split-mode")
_ALL_LAYERS = 99


def placement_mode(plan: Plan) -> str:
    """auto, experts or hand, as the plan's flags say."""
    layers = plan.get("gpu-layers", "auto")
    if layers not in ("auto", "-1") or any(plan.find(o) is not None for o in BY_HAND[1:]):
        return "hand"
    return "experts" if plan.is_on("cpu-moe") else "auto"


class PlacementField(Field):
    """Auto leaves it to the engine; by hand, -ngl and -ncmoe are set here and finer things in the command line."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.modes = Segments((("auto", tr("Auto")), ("experts", tr("Experts on CPU")), ("hand", tr("By hand"))),
                              tr("Placement"))
        self.modes.chosen.connect(self._chosen)
        self.layers = spin(tr("Layers on the GPU (-ngl)"), 0, 999)
        self.layers.valueChanged.connect(lambda n: self.desk.set("gpu-layers", n))
        self.experts = spin(tr("Layers whose experts stay on the CPU (-ncmoe)"), 0, 999)
        self.experts.valueChanged.connect(self._experts)
        self._hand = QWidget()
        names = [Label(text, "mono", "text2") for text in ("-ngl", "-ncmoe")]
        self._experts_name = names[1]
        self._hand.setLayout(row(names[0], self.layers, 8, names[1], self.experts, None, gap=8))
        self.setLayout(column(self.modes, self._hand, gap=6))
        desk.previewChanged.connect(self.sync)

    @Slot()
    def sync(self) -> None:
        plan, preview = self.desk.plan, self.desk.preview
        mode = placement_mode(plan)
        self.modes.select(mode)
        self._hand.setVisible(mode == "hand")
        model = preview.model if preview is not None else None
        moe = model is None or bool(model.facts.experts)
        option = self.modes.option("experts")
        option.setEnabled(moe or mode == "experts")
        option.setToolTip("" if moe else tr("This model has no experts."))
        for widget in (self._experts_name, self.experts):
            widget.setVisible(moe)
        with QSignalBlocker(self.layers), QSignalBlocker(self.experts):
            layers = plan.get("gpu-layers", "auto")
            most = model.facts.layers if model is not None and model.facts.layers else _ALL_LAYERS - 1
            self.layers.setValue(plan.integer("gpu-layers") if layers not in ("auto", "all", "-1") and
                                 plan.integer("gpu-layers") is not None else most + 1)  # type: ignore[arg-type]
            self.experts.setValue(plan.integer("n-cpu-moe") or 0)

    @Slot(str)
    def _chosen(self, mode: str) -> None:
        plan = self.desk.plan.without(*BY_HAND, "cpu-moe")
        if mode == "experts":
            plan = plan.with_("cpu-moe")
        elif mode == "hand":
            estimate = self.desk.preview.estimate if self.desk.preview is not None else None
            on = estimate.layers_offloaded[0] if estimate is not None and estimate.layers_offloaded else _ALL_LAYERS
            plan = plan.with_("gpu-layers", on)
        self.desk.edit(plan)

    @Slot(int)
    def _experts(self, count: int) -> None:
        self.desk.edit(self.desk.plan.with_("n-cpu-moe", count) if count else self.desk.plan.without("n-cpu-moe"))


_OWN = "<its own layers>"
"""Stands in the box for the model itself; no path begins like that."""


class DraftField(Field):
    """A smaller model that guesses ahead, and how its guesses are made."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.box = combo(tr("Draft model"))
        self.box.activated.connect(self._chosen)
        self.kind = combo(tr("Kind of speculation (--spec-type)"))
        option = CATALOGUE.get("spec-type")
        self.kind.addItems([c for c in option.choices if c != "none"] if option is not None else [])
        self.kind.setMinimumWidth(theme().px(132))
        self.kind.activated.connect(lambda _index: self.desk.set("spec-type", self.kind.currentText()))
        line = row(self.box, self.kind, gap=8)
        line.setStretch(0, 1)
        self.setLayout(line)
        desk.modelsChanged.connect(self.sync)
        desk.previewChanged.connect(self.sync)

    def candidates(self) -> list[Any]:
        """Models of the library that could draft."""
        return pairing_models(self.desk)

    @Slot()
    def sync(self) -> None:
        path = self.desk.plan.get("spec-draft-model")
        kind = self.desk.plan.get("spec-type", "none") or "none"
        with QSignalBlocker(self.box), QSignalBlocker(self.kind):
            self.box.clear()
            self.box.addItem(tr("None"), "")
            itself = drafts_itself(self.desk)
            if itself or own_layers(self.desk):
                self.box.addItem(tr("Its own prediction layers (MTP)"), _OWN)
            for entry in self.candidates():
                self.box.addItem(entry_name(entry), entry_path(entry))
            if path and self.box.findData(path) < 0:
                self.box.addItem(file_name(path), path)
            self.box.addItem(tr("Choose a file…"), None)
            self.box.setCurrentIndex(self.box.findData(_OWN if itself else path or ""))
            if kind != "none" and self.kind.findText(kind) < 0:
                self.kind.addItem(kind)
            self.kind.setCurrentText(kind)
        self.kind.setVisible(bool(path) or kind != "none")

    @Slot(int)
    def _chosen(self, index: int) -> None:
        path = self.box.itemData(index)
        if path == _OWN:
            take_own(self.desk)
            return
        if path is None:
            path = ask_for_model(self, self.desk.plan.get("spec-draft-model") or self.desk.model_path())
            if not path:
                self.sync()
                return
        plan = self.desk.plan
        if not path:
            self.desk.edit(plan.without("spec-draft-model", "spec-type"))
            return
        take_draft(self.desk, path)


class AddressField(Field):
    """Who can reach the server, on which port, with which key."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.host = combo(tr("Address"))
        self.host.addItem(tr("127.0.0.1, this computer"), "127.0.0.1")
        self.host.addItem(tr("0.0.0.0, the network"), "0.0.0.0")
        self.host.addItem(tr("::, the network (IPv6 too)"), "::")
        self.host.activated.connect(self._hosted)
        self.port = spin(tr("Port"), 0, 999_999)
        self.port.setFixedWidth(theme().px(104))
        self.port.valueChanged.connect(self._ported)
        self.key = QLineEdit()
        self.key.setAccessibleName(tr("API key, as a reference"))
        self.key.setPlaceholderText(tr("API key: env:NAME, file:PATH or keyring:NAME"))
        self.key.editingFinished.connect(self._keyed)
        first = row(self.host, self.port, gap=8)
        first.setStretch(0, 1)
        self.setLayout(column(first, self.key, gap=6))
        desk.previewChanged.connect(self.sync)
        desk.runStateChanged.connect(self.sync)

    @Slot()
    def sync(self) -> None:
        plan = self.desk.plan
        host = plan.get("host", "127.0.0.1") or "127.0.0.1"
        with QSignalBlocker(self.host), QSignalBlocker(self.port), QSignalBlocker(self.key):
            at = self.host.findData(host)
            if at < 0:
                self.host.addItem(host, host)
                at = self.host.count() - 1
            self.host.setCurrentIndex(at)
            self.port.setValue(plan.integer("port") or chosen_port(self.desk) or DEFAULT_PORT)
            key = plan.get("api-key") or ""
            if not self.key.hasFocus():
                self.key.setText(key)
        issues = self.desk.preview.errors if self.desk.preview is not None and self.desk.preview.plan == plan else ()
        mark_error(self.port, any(i.option == "port" for i in issues))
        self.key.setVisible(bool(key) or host not in LOCAL_HOSTS)

    @Slot(int)
    def _hosted(self, index: int) -> None:
        host = self.host.itemData(index)
        plan = self.desk.plan
        self.desk.edit(plan.without("host") if host == "127.0.0.1" else plan.with_("host", host))

    @Slot(int)
    def _ported(self, port: int) -> None:
        self.desk.set("port", port)

    @Slot()
    def _keyed(self) -> None:
        text = self.key.text().strip()
        if text != (self.desk.plan.get("api-key") or ""):
            self.desk.edit(self.desk.plan.with_("api-key", text) if text else self.desk.plan.without("api-key"))


def mark_error(widget: QWidget, on: bool) -> None:
    """The border of a control in error; the sentence stands beside it."""
    if bool(widget.property("error")) != on:
        widget.setProperty("error", on)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


