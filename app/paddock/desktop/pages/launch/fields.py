"""The editors of the Basic form: each shows a part of the plan and edits it through the desk."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QSizePolicy, QSpinBox, QWidget

from paddock.desktop.icons import icon
from paddock.desktop.pages.launch.context import ContextSlider
from paddock.desktop.pages.launch.serving import choose_folder, many_words, serving_file
from paddock.desktop.parts.basic import Label, button, row, tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.gguf.model import Kind, ModelFile
from paddock.launch.catalogue import KV_TYPES
from paddock.paths import file_name

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_MOST_CONTEXT = 1 << 27


class Field(QWidget):
    """`sync` shows the plan without telling; edits go to the desk."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk

    def sync(self) -> None:
        """Show what the plan says."""
        raise NotImplementedError


class CalmCombo(QComboBox):
    """The wheel scrolls the page unless the box has the focus: nobody changes a plan by scrolling past it."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event) if self.hasFocus() else event.ignore()


class CalmSpin(QSpinBox):
    """As CalmCombo."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event) if self.hasFocus() else event.ignore()


def combo(name: str) -> QComboBox:
    """A box that shortens long entries instead of growing."""
    made = CalmCombo()
    made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    made.setAccessibleName(name)
    made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    made.setMinimumContentsLength(6)
    made.setMaxVisibleItems(16)
    return made


def spin(name: str, low: int, high: int, step: int = 1) -> QSpinBox:
    """A number box whose text stands clear of the border."""
    made = CalmSpin()
    made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    made.setAccessibleName(name)
    made.setRange(low, high)
    made.setSingleStep(step)
    made.lineEdit().setTextMargins(6, 0, 0, 0)
    made.setMinimumWidth(theme().px(64))
    return made


def model_name(model: ModelFile) -> str:
    """Qwen3-30B-A3B-Instruct-2507, Q4_K_M"""
    name = model.facts.name or model.path.stem
    return f"{name}, {model.facts.quant}" if model.facts.quant else name


def entry_path(entry: Any) -> str:
    """The file of a library entry."""
    return str(entry.path)


def entry_name(entry: Any) -> str:
    """Name and quantization of a library entry."""
    model = getattr(entry, "model", None)
    return model_name(model) if isinstance(model, ModelFile) else file_name(entry_path(entry))


class ModelField(Field):
    """Known models in a box, any other through the folder button."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.box = combo(tr("Model file"))
        self.box.activated.connect(self._chosen)
        browse = button("", "folder", self._browse, name=tr("Choose a model file"))
        self.many = button("", "boxes", lambda: choose_folder(self, desk), name=tr("Serve a folder of models"))
        self.many.setToolTip(tr("Serve a folder of models: each is loaded when it is asked for (--models-dir)"))
        line = row(self.box, browse, self.many, gap=8)
        line.setStretch(0, 1)
        self.setLayout(line)
        desk.modelsChanged.connect(self.sync)
        desk.previewChanged.connect(self.sync)

    @Slot()
    def sync(self) -> None:
        path = self.desk.model_path()
        entries = [e for e in self.desk.entries or [] if _launchable(e)]
        preview = self.desk.preview
        with QSignalBlocker(self.box):
            self.box.clear()
            seen = Counter(entry_name(entry) for entry in entries)
            for entry in entries:
                name = entry_name(entry)
                self.box.addItem(name if seen[name] < 2 else Path(entry_path(entry)).stem, entry_path(entry))
                self.box.setItemData(self.box.count() - 1, entry_path(entry), Qt.ItemDataRole.ToolTipRole)
            at = self.box.findData(path) if path else -1
            if path and at < 0:
                model = preview.model if preview is not None and preview.plan.get("model") == path else None
                self.box.insertItem(0, model_name(model) if model is not None else file_name(path), path)
                at = 0
            many = many_words(self.desk.plan)
            if many is not None:
                self.box.insertItem(0, many[0])
                at = 0
            self.box.setCurrentIndex(at)
        self.box.setToolTip(many[1] if many is not None else path or "")

    @Slot(int)
    def _chosen(self, index: int) -> None:
        path = self.box.itemData(index)
        if path and path != self.desk.model_path():
            self.desk.edit(serving_file(self.desk.plan, path))

    def _browse(self) -> None:
        path = ask_for_model(self, self.desk.model_path())
        if path:
            self.desk.edit(serving_file(self.desk.plan, path))


def ask_for_model(owner: QWidget, near: str | None) -> str:
    """A file dialog; "" when it was left."""
    folder = str(Path(near).parent) if near else ""
    return QFileDialog.getOpenFileName(owner, tr("Choose a model file"), folder,
                                       tr("Model files (*.gguf);;All files (*)"))[0]


def _launchable(entry: Any) -> bool:
    kind = getattr(getattr(entry, "model", None), "kind", None) or getattr(entry, "kind", None)
    return kind in (None, Kind.MODEL, Kind.EMBEDDING, Kind.RERANKER, Kind.DRAFT)


class EngineField(Field):
    """Engines that were found; those that did not answer are there with the reason, and can't be chosen."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.box = combo(tr("Engine"))
        self.box.activated.connect(self._chosen)
        self.setLayout(row(self.box))
        desk.enginesChanged.connect(self.sync)
        desk.previewChanged.connect(self.sync)

    @Slot()
    def sync(self) -> None:
        engines = self.desk.engines
        current = self.desk.engine()
        with QSignalBlocker(self.box):
            self.box.clear()
            if engines is None:
                self.box.addItem(tr("Looking for llama.cpp…"))
            elif not engines:
                self.box.addItem(tr("None found"))
            for engine in engines or []:
                self.box.addItem(engine.name, str(engine.path))
                index = self.box.count() - 1
                self.box.setItemData(index, str(engine.error or engine.path), Qt.ItemDataRole.ToolTipRole)
                if engine.error is not None:
                    self.box.model().setData(self.box.model().index(index, 0), 0, Qt.ItemDataRole.UserRole - 1)
            if current is not None:
                self.box.setCurrentIndex(self.box.findData(str(current.path)))
        self.box.setEnabled(bool(engines))

    @Slot(int)
    def _chosen(self, index: int) -> None:
        path = self.box.itemData(index)
        current = self.desk.engine()
        if path and (current is None or path != str(current.path)):
            self.desk.edit(replace(self.desk.plan, engine=path))


class ContextField(Field):
    """Slider with log steps and the exact figure."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.slider = ContextSlider()
        self.slider.changed.connect(self._set)
        self.figure = spin(tr("Context, exact"), 0, _MOST_CONTEXT, 1024)
        self.figure.setSpecialValueText(tr("as trained"))
        self.figure.setFixedWidth(theme().px(104))
        self.figure.valueChanged.connect(self._set)
        line = row(self.slider, self.figure, gap=16)
        line.setStretch(0, 1)
        line.setAlignment(self.figure, Qt.AlignmentFlag.AlignTop)
        self.setLayout(line)
        desk.previewChanged.connect(self.sync)
        desk.whatIfChanged.connect(self.sync)

    @Slot()
    def sync(self) -> None:
        preview, found = self.desk.preview, self.desk.what_if
        trained = preview.model.facts.trained_context if preview is not None and preview.model is not None else None
        tokens = self.desk.plan.integer("ctx-size") or 0
        self.slider.set_range(max(trained, tokens) if trained else None)
        self.slider.show_value(tokens or trained or 4096)
        # Of the plan before this edit, until the new one is known: the strip must not flicker while the handle moves.
        if found.plan is None or found.plan.without("ctx-size") == self.desk.plan.without("ctx-size"):
            self.slider.show_limits(found.fits_up_to, found.tight_up_to)
        else:
            self.slider.show_limits(None, None)
        if self.figure.value() != tokens:
            with QSignalBlocker(self.figure):
                self.figure.setValue(tokens)

    @Slot(int)
    def _set(self, tokens: int) -> None:
        if tokens != (self.desk.plan.integer("ctx-size") or 0):
            self.desk.set("ctx-size", tokens)


class KvField(Field):
    """Types of K and V; linked, they stay alike."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._linked = True
        self.boxes = {"cache-type-k": combo(tr("KV cache type for K")),
                      "cache-type-v": combo(tr("KV cache type for V"))}
        for option, box in self.boxes.items():
            box.addItems([*KV_TYPES])
            box.setMinimumWidth(theme().px(84))
            box.activated.connect(lambda _index, chosen=option: self._chosen(chosen))
        self.link = tool_button("link", tr("Keep K and V alike"), None)
        self.link.setCheckable(True)
        self.link.setChecked(True)
        self.link.toggled.connect(self._link)
        self.note = Label(tr("K = V"), "note", "text2", elide="end")
        line = row(self.boxes["cache-type-k"], self.link, self.boxes["cache-type-v"], self.note, gap=4)
        for at, stretch in ((0, 3), (2, 3), (3, 2)):
            line.setStretch(at, stretch)
        self.setLayout(line)

    def sync(self) -> None:
        values = {option: self.desk.plan.get(option, "f16") or "f16" for option in self.boxes}
        for option, box in self.boxes.items():
            with QSignalBlocker(box):
                if box.findText(values[option]) < 0:
                    box.addItem(values[option])
                box.setCurrentText(values[option])
        if values["cache-type-k"] != values["cache-type-v"]:
            self.link.setChecked(False)

    def _chosen(self, option: str) -> None:
        value = self.boxes[option].currentText()
        plan = self.desk.plan
        for name in self.boxes if self._linked else (option,):
            plan = plan.without(name) if value == "f16" else plan.with_(name, value)
        self.desk.edit(plan)

    @Slot(bool)
    def _link(self, on: bool) -> None:
        self._linked = on
        self.link.setIcon(icon("link" if on else "unlink", "text2"))
        self.note.setText(tr("K = V") if on else tr("K, V apart"))
        if on and self.boxes["cache-type-k"].currentText() != self.boxes["cache-type-v"].currentText():
            self._chosen("cache-type-k")


class SlotsField(Field):
    """How many requests at a time, and whether they share one context."""

    AUTO = -1

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.count = spin(tr("Slots"), self.AUTO, 256)
        self.count.setFixedWidth(theme().px(112))
        self.count.setSpecialValueText(tr("Auto (4)"))
        self.count.valueChanged.connect(self._counted)
        self.share = QCheckBox(tr("Share one context"))
        self.share.toggled.connect(self._shared)
        self.setLayout(row(self.count, self.share, None, gap=12))

    def sync(self) -> None:
        count = self.desk.plan.integer("parallel")
        auto = count is None or count < 1
        with QSignalBlocker(self.count), QSignalBlocker(self.share):
            self.count.setValue(self.AUTO if auto else int(count or 1))
            unified = self.desk.plan.find("kv-unified")
            self.share.setChecked(unified.on if unified is not None else auto)
        self.share.setEnabled(not auto)
        self.share.setToolTip(tr("Auto shares one context; set a number of slots to choose.") if auto else "")

    @Slot(int)
    def _counted(self, count: int) -> None:
        before = self.desk.plan.integer("parallel")
        if count == 0:
            count = 1 if before is None or before < 1 else self.AUTO
        self.desk.edit(self.desk.plan.without("parallel") if count == self.AUTO else
                       self.desk.plan.with_("parallel", count))

    @Slot(bool)
    def _shared(self, on: bool) -> None:
        self.desk.edit(self.desk.plan.with_("kv-unified") if on else self.desk.plan.without("kv-unified"))
