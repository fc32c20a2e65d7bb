"""The models of a router: which are loaded, and buttons to load and unload them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from paddock.desktop.parts.basic import IconLabel, Label, button, empty_layout, row, rule
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.server.router import RouterModel
from paddock.units import bytes_text, count_text

_ROW = 30
_MOST_ROWS = 5
_STATES = {"loaded": ("circle-dot", "ok"), "sleeping": ("moon", "unk"), "loading": ("loader", "warn"),
           "downloading": ("download", "warn")}


def state_words(model: RouterModel) -> str:
    """The state as the list says it."""
    words = {"loaded": tr("loaded"), "sleeping": tr("asleep"), "loading": tr("loading"),
             "downloading": tr("downloading"), "unloaded": tr("not loaded"), "downloaded": tr("not loaded")}
    if model.failed and model.state not in ("loaded", "loading"):
        return tr("failed") if model.exit_code is None else tr("failed (exit code {code})", code=model.exit_code)
    return words.get(model.state, model.state)


def details(model: RouterModel) -> str:
    """Size and context, known while it is loaded."""
    parts = [bytes_text(model.size_bytes)] if model.size_bytes else []
    if model.context:
        parts.append(tr("{tokens} tokens", tokens=count_text(model.context)))
    return ", ".join(parts)


class ModelsPane(QWidget):
    """Hidden unless there are models to show; asks for them by `wanted`."""

    wanted = Signal(str, bool)
    """A model's id, and whether to load (or else to unload) it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[RouterModel, ...] = ()
        self._count = Label("", "note", "text2", elide="end")
        title = row(Label(tr("Models"), weight=600), self._count, gap=8, margins=(12, 6, 12, 4))
        title.setStretch(1, 1)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(12, 0, 12, 4)
        self._grid.setHorizontalSpacing(theme().px(8))
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(1, 1)
        inner = QWidget()
        inner.setLayout(self._grid)
        self._scroll = scrolling(inner, focus=False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(title)
        layout.addWidget(self._scroll)
        layout.addWidget(rule())
        self.hide()

    def show_models(self, models: Sequence[RouterModel], usable: bool) -> None:
        """`usable`: the router runs and is ours, so that it may be asked."""
        found = tuple(models)
        self.setVisible(bool(found))
        for act in self._buttons():
            act.setEnabled(usable and bool(act.property("possible")))
        if found == self._shown:
            return
        self._shown = found
        running = sum(m.running for m in found)
        self._count.setText(tr("{running} of {count} loaded", running=running, count=len(found)))
        focused = next((a.property("model") for a in self._buttons() if a.hasFocus()), None)
        empty_layout(self._grid)
        for line, model in enumerate(found):
            self._add(line, model, usable)
        rows = min(len(found), _MOST_ROWS)
        self._scroll.setFixedHeight(rows * theme().px(_ROW) + theme().px(6))
        for act in self._buttons():
            if act.property("model") == focused and focused is not None:
                act.setFocus()

    def _buttons(self) -> list[QWidget]:
        places = (self._grid.itemAtPosition(line, 3) for line in range(len(self._shown)))
        return [widget for place in places if place is not None and (widget := place.widget()) is not None]

    def _add(self, line: int, model: RouterModel, usable: bool) -> None:
        failed = model.failed and not model.running
        icon, role = ("circle-x", "bad") if failed else _STATES.get(model.state, ("circle", "unk"))
        name = Label(model.id, weight=500, elide="middle")
        state = Label(state_words(model), "note", "text2")
        state.setToolTip(details(model))
        running = model.running or model.state == "loading"
        act = button(tr("Unload") if running else tr("Load now"), None,
                     partial(self.wanted.emit, model.id, not running), small=True)
        act.setAccessibleName(tr("Unload {model}", model=model.id) if running else tr("Load {model}", model=model.id))
        act.setProperty("model", model.id)
        act.setProperty("possible", model.state != "downloading")
        act.setEnabled(usable and model.state != "downloading")
        for column, widget in enumerate((IconLabel(icon, 14, role, state_words(model)), name, state, act)):
            self._grid.addWidget(widget, line, column)
        self._grid.setRowMinimumHeight(line, theme().px(_ROW))
