"""What auto placement must leave as it is: a small menu beside its button."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from paddock.desktop.icons import icon
from paddock.desktop.parts.basic import tool_button
from paddock.desktop.tr import tr

PINS: dict[str, tuple[str, ...]] = {
    "context": ("ctx-size",), "kv": ("cache-type-k", "cache-type-v"), "batch": ("ubatch-size",),
    "layers": ("gpu-layers",), "split": ("tensor-split",),
    "experts": ("n-cpu-moe", "cpu-moe", "override-tensor", "n-cpu-ffn"),
}
"""Name → option ids."""


def pin_word(name: str) -> str:
    """How a person calls it, with its flags."""
    return {"context": tr("Context (-c)"), "kv": tr("KV cache type (-ctk, -ctv)"), "batch": tr("Micro-batch (-ub)"),
            "layers": tr("Layers on the GPU (-ngl)"), "split": tr("Shares of the devices (-ts)"),
            "experts": tr("Experts and patterns (-ncmoe, -ot)")}[name]


class Pins(QWidget):
    """Which levers are held. `button` opens the menu; `options()` are the option ids to leave alone."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hide()
        self.held: set[str] = set()
        self.button: QToolButton = tool_button("lock", "", self.open_menu, quiet=False)
        self._say()

    def options(self) -> frozenset[str]:
        return frozenset(option for name in self.held for option in PINS[name])

    def menu(self) -> QMenu:
        """One line a lever, checked where it is held."""
        menu = QMenu(self.button)
        head = menu.addAction(tr("Auto placement leaves as it is:"))
        head.setEnabled(False)
        for name in PINS:
            action = menu.addAction(pin_word(name))
            action.setCheckable(True)
            action.setChecked(name in self.held)
            action.toggled.connect(lambda on, chosen=name: self.hold(chosen, on))
        return menu

    def hold(self, name: str, on: bool) -> None:
        """Leave this lever alone, or let auto placement choose it."""
        self.held.add(name) if on else self.held.discard(name)
        self._say()

    def open_menu(self) -> None:
        self.menu().popup(self.button.mapToGlobal(QPoint(0, self.button.height())))

    def _say(self) -> None:
        names = ", ".join(pin_word(name) for name in PINS if name in self.held)
        words = tr("What auto placement leaves as it is: {names}", names=names or tr("nothing"))
        self.button.setToolTip(words)
        self.button.setAccessibleName(words)
        self.button.setIcon(icon("lock", "accent" if self.held else "text2"))
