"""What goes along with a prompt, and the box that it is written into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QSpinBox,
    QWidget,
)

from paddock.desktop.parts.basic import Label, button, row
from paddock.desktop.parts.blocks import Segments
from paddock.desktop.tr import tr
from paddock.units import number_text

_MOST_LINES = 5


class PromptEdit(QPlainTextEdit):
    """Grows with its lines. Enter sends, Shift+Enter begins a new line; Tab leaves."""

    sent = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.textChanged.connect(self._fit)
        self._fit()

    def text(self) -> str:
        return self.toPlainText()

    def setText(self, text: str) -> None:
        self.setPlainText(text)

    @Slot()
    def _fit(self) -> None:
        lines = min(max(self.document().blockCount(), 1), _MOST_LINES)
        margins = self.contentsMargins()
        height = lines * self.fontMetrics().lineSpacing() + 2 * int(self.document().documentMargin())
        self.setFixedHeight(height + margins.top() + margins.bottom() + 4)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = not event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain:
            self.sent.emit()
            return
        super().keyPressEvent(event)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self.height())


class AskOptions(QWidget):
    """Chat or bare completion, system prompt, temperature, seed, most tokens, a picture."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.image: Path | None = None
        self.way = Segments([("chat", tr("Chat")), ("raw", tr("Completion"))], tr("Way of asking"))
        self.way.setToolTip(tr("A completion goes to the model as it stands, without its chat template."))
        self.system = QLineEdit()
        self.system.setPlaceholderText(tr("none"))
        self.temperature = QDoubleSpinBox()
        self.temperature.setRange(0.0, 2.0)
        self.temperature.setSingleStep(0.1)
        self.temperature.setValue(0.8)
        self.seed = QSpinBox()
        self.seed.setRange(-1, 2_147_483_647)
        self.seed.setValue(-1)
        self.seed.setSpecialValueText(tr("random"))
        self.most = QSpinBox()
        self.most.setRange(1, 1_000_000)
        self.most.setValue(512)
        self._image_words = Label("", "note", "text2", elide="middle")
        self.choose = button(tr("Choose…"), None, self.ask_image, small=True)
        self.forget = button(tr("Remove"), None, lambda: self.set_image(None), link=True, small=True)
        picture = QWidget()
        inside = row(self._image_words, self.choose, self.forget, gap=6)
        inside.setStretch(0, 1)
        picture.setLayout(inside)
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 4)
        form.setSpacing(6)
        for name, field in ((tr("&Way"), self.way), (tr("&System prompt"), self.system),
                            (tr("&Temperature"), self.temperature), (tr("S&eed"), self.seed),
                            (tr("&Most tokens"), self.most), (tr("&Picture"), picture)):
            field.setAccessibleName(name.replace("&", ""))
            form.addRow(name, field)
        self.temperature.valueChanged.connect(self.changed)
        self.most.valueChanged.connect(self.changed)
        self.way.chosen.connect(self._way_chosen)
        self.allow_images(False)

    def allow_images(self, allowed: bool) -> None:
        """Whether the model has a projector; the reason stands where none is."""
        self._allowed = allowed
        if not allowed:
            self.image = None
        self._say_image()

    def ask_image(self) -> None:
        kinds = tr("Pictures (*.png *.jpg *.jpeg *.gif *.bmp *.webp)")
        path, _ = QFileDialog.getOpenFileName(self, tr("A picture for the prompt"), "", kinds)
        if path:
            self.set_image(Path(path))

    def set_image(self, path: Path | None) -> None:
        self.image = path
        self._say_image()
        self.changed.emit()

    def _say_image(self) -> None:
        none = tr("none") if self._allowed else tr("started without a projector")
        self._image_words.setText(self.image.name if self.image is not None else none)
        self.choose.setEnabled(self._allowed and self.way.key() == "chat")
        self.forget.setVisible(self.image is not None)

    @Slot(str)
    def _way_chosen(self, key: str) -> None:
        self.system.setEnabled(key == "chat")
        if key == "raw":
            self.image = None
        self._say_image()
        self.changed.emit()

    def words(self) -> str:
        """In short, for the title's line."""
        base = tr("temp {temperature}, up to {count} tokens", temperature=number_text(self.temperature.value(), 1),
                  count=self.most.value())
        more = [tr("completion")] if self.way.key() == "raw" else [self.image.name] if self.image is not None else []
        return ", ".join((base, *more))

    def values(self) -> dict[str, Any]:
        """The values of a `work.trying.Question`, but the prompt."""
        raw = self.way.key() == "raw"
        return {"system": "" if raw else self.system.text(), "temperature": self.temperature.value(),
                "seed": self.seed.value(), "max_tokens": self.most.value(), "image": self.image, "raw": raw}
