"""The Basic form: the eight things that most people touch, and what changed since the plan was saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from paddock.desktop.asked import chosen_port
from paddock.desktop.pages.launch import costs
from paddock.desktop.pages.launch.changed import ChangesPane
from paddock.desktop.pages.launch.fields import ContextField, EngineField, Field, KvField, ModelField, SlotsField
from paddock.desktop.pages.launch.fields_more import BY_HAND, AddressField, DraftField, PlacementField
from paddock.desktop.pages.launch.profile_origins import OriginsPane
from paddock.desktop.pages.launch.rows import FormRow
from paddock.desktop.pages.launch.serving import MANY
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.effective import DEFAULT_PORT

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

COMPACT = 700


class BasicForm(QScrollArea):
    """Rows in the order of the journey; a click on a row's control is the only way in which it edits."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.fields: dict[str, Field] = {
            "model": ModelField(desk), "engine": EngineField(desk), "context": ContextField(desk),
            "placement": PlacementField(desk), "kv": KvField(desk), "slots": SlotsField(desk),
            "draft": DraftField(desk), "address": AddressField(desk),
        }
        self.rows = {name: FormRow(*_words(name), self.fields[name]) for name in self.fields}
        self.changes = ChangesPane(desk)
        self.origins = OriginsPane(desk)
        inner = QWidget()
        box = QVBoxLayout(inner)
        box.setContentsMargins(0, theme().px(8), 0, 0)
        box.setSpacing(theme().px(2))
        for made in self.rows.values():
            box.addWidget(made)
        box.addStretch(1)
        box.addWidget(self.changes)
        box.addWidget(self.origins)
        self.setWidget(inner)
        inner.setAutoFillBackground(False)
        desk.planChanged.connect(self.sync)
        desk.profileChanged.connect(self.sync)
        desk.previewChanged.connect(self.show_costs)
        desk.whatIfChanged.connect(self.show_costs)
        desk.enginesChanged.connect(self.show_costs)
        desk.modelsChanged.connect(self.show_costs)
        self.sync()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for made in self.rows.values():
            made.set_compact(self.width() < theme().px(COMPACT))

    @Slot()
    def sync(self) -> None:
        """Show the plan."""
        for field in self.fields.values():
            field.sync()
        changed = {c.option for c in self._desk.changes() if c.kind != "variable"}
        for made in self.rows.values():
            made.set_changed(bool(changed & set(made.options)))
        self.show_costs()

    @Slot()
    def show_costs(self) -> None:
        """Beside each control, what it costs as things stand."""
        desk = self._desk
        preview, plan = desk.preview, desk.plan
        current = preview if preview is not None and preview.plan.get("model") == plan.get("model") else None
        model = current.model if current is not None else None
        estimate = current.estimate if current is not None else None
        error = current.model_error if current is not None else None
        draft = self.fields["draft"]
        texts = {
            "model": str(error.what) if error is not None else costs.model_words(model, plan),
            "engine": costs.engine_words(desk.engine()),
            "context": costs.context_words(estimate, model, desk.what_if),
            "placement": costs.placement_words(estimate, model),
            "kv": costs.kv_words(plan, desk.what_if),
            "slots": costs.slots_words(estimate),
            "draft": costs.draft_words(plan, estimate, current.draft if current is not None else None,
                                       len(draft.candidates()) if isinstance(draft, DraftField) else 0),
            "address": costs.address_words(plan, chosen_port(desk) not in (None, DEFAULT_PORT)),
        }
        wrong = {i.option: str(i.text) for i in preview.errors} if preview is not None and preview.plan == plan else {}
        for name, text in texts.items():
            found = next((wrong[o] for o in self.rows[name].options if o in wrong), "")
            self.rows[name].show_cost(found or text, bool(found) or (name == "model" and error is not None))


def _words(name: str) -> tuple[str, str, tuple[str, ...]]:
    """Label, flags, the options that the row edits."""
    return {
        "model": (tr("Model"), "-m", ("model", *MANY)),
        "engine": (tr("Engine"), "llama-server", ()),
        "context": (tr("Context"), "-c", ("ctx-size",)),
        "placement": (tr("Placement"), "-ngl -ncmoe -ot", (*BY_HAND, "cpu-moe")),
        "kv": (tr("KV cache type"), "-ctk -ctv", ("cache-type-k", "cache-type-v")),
        "slots": (tr("Slots"), "-np", ("parallel", "kv-unified")),
        "draft": (tr("Draft model"), "-md --spec-type", ("spec-draft-model", "spec-type")),
        "address": (tr("Address"), "--host --port", ("host", "port", "api-key")),
    }[name]


