"""A sentence with its figures in bold: "*12.0 GiB* KV, 96 KiB a token." """

from __future__ import annotations

import html
import re

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from paddock.desktop.parts.basic import Label
from paddock.desktop.theme import theme

_BOLD = re.compile(r"\*([^*]+)\*")


class MarkedLabel(Label):
    """`setMarked("*12.0 GiB* KV")`: what stands between stars is bold and in the text's colour, the rest is quiet."""

    def __init__(self, kind: str = "note", parent: QWidget | None = None) -> None:
        self._marked = ""
        super().__init__("", kind, "text2", wrap=True, parent=parent)
        self.setTextFormat(Qt.TextFormat.RichText)

    def setMarked(self, text: str) -> None:
        if text != self._marked:
            self._marked = text
            self._render()

    def marked(self) -> str:
        return self._marked

    def plain(self) -> str:
        """The sentence without marks."""
        return _BOLD.sub(r"\1", self._marked)

    def _render(self) -> None:
        colour = theme().color("text").name()
        shown = _BOLD.sub(rf'<span style="color:{colour};font-weight:500">\1</span>', html.escape(self._marked))
        self.setText(shown.replace("\n", "<br>"))
        self.setAccessibleName(self.plain())

    def restyle(self) -> None:
        super().restyle()
        self._render()
