"""Verdicts, states, counts: colour with an icon and a word."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from paddock.desktop.icons import paint_icon
from paddock.desktop.parts.basic import IconLabel, Label
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.model import Verdict
from paddock.launch.model import Severity
from paddock.server.model import State

VERDICTS: dict[Verdict, tuple[str, str]] = {
    Verdict.FITS: ("circle-check", "ok"),
    Verdict.TIGHT: ("triangle-alert", "warn"),
    Verdict.WONT_FIT: ("circle-x", "bad"),
    Verdict.CANT_TELL: ("circle-help", "unk"),
}
"""Icon and role."""

SEVERITIES: dict[Severity, tuple[str, str]] = {
    Severity.ERROR: ("circle-x", "bad"),
    Severity.WARNING: ("triangle-alert", "warn"),
    Severity.HINT: ("info", "accent"),
}

STATES: dict[State | None, tuple[str, str]] = {
    None: ("circle", "unk"),
    State.STOPPED: ("circle", "unk"),
    State.STARTING: ("loader", "warn"),
    State.LOADING: ("loader", "warn"),
    State.READY: ("circle-dot", "ok"),
    State.STOPPING: ("loader", "warn"),
    State.FAILED: ("circle-x", "bad"),
    State.CRASHED: ("circle-x", "bad"),
}


def verdict_word(verdict: Verdict) -> str:
    """Fits, Tight, Won't fit, Can't tell."""
    return {Verdict.FITS: tr("Fits"), Verdict.TIGHT: tr("Tight"), Verdict.WONT_FIT: tr("Won’t fit"),
            Verdict.CANT_TELL: tr("Can’t tell")}[verdict]


def severity_word(severity: Severity) -> str:
    """Error, Warning, Hint."""
    return {Severity.ERROR: tr("Error"), Severity.WARNING: tr("Warning"), Severity.HINT: tr("Hint")}[severity]


def state_word(state: State | None) -> str:
    """Not running, Starting, Loading, Ready, …"""
    return {None: tr("Not running"), State.STOPPED: tr("Not running"), State.STARTING: tr("Starting"),
            State.LOADING: tr("Loading"), State.READY: tr("Ready"), State.STOPPING: tr("Stopping"),
            State.FAILED: tr("Failed"), State.CRASHED: tr("Crashed")}[state]


class Chip(QWidget):
    """A verdict (or any tone) as icon, word and tint. Tones: ok, warn, bad, unk, accent (no tint: sel).

    With `set_menu_mark` it shows a chevron and can be pressed: `activated`.
    """

    activated = Signal()

    def __init__(self, text: str = "", icon_name: str = "", tone: str = "unk", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text, self._icon, self._tone = text, icon_name, tone
        self._menu = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self._restyle)
        self.setAccessibleName(text)

    def show_verdict(self, verdict: Verdict) -> None:
        """Become the chip of a verdict."""
        name, tone = VERDICTS[verdict]
        self.show_tone(verdict_word(verdict), name, tone)

    def show_tone(self, text: str, icon_name: str, tone: str) -> None:
        if (text, icon_name, tone) != (self._text, self._icon, self._tone):
            self._text, self._icon, self._tone = text, icon_name, tone
            self.setAccessibleName(text)
            self._restyle()

    def text(self) -> str:
        return self._text

    def set_menu_mark(self, on: bool) -> None:
        """Show that pressing it opens something."""
        if on != self._menu:
            self._menu = on
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if on else Qt.FocusPolicy.NoFocus)
            self.setCursor(Qt.CursorShape.PointingHandCursor if on else Qt.CursorShape.ArrowCursor)
            self._restyle()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._menu and event.button() == Qt.MouseButton.LeftButton:
            self.activated.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._menu and event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.activated.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    @Slot()
    def _restyle(self) -> None:
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        t = theme()
        self.setFont(t.font("body", 600))
        width = self.fontMetrics().horizontalAdvance(self._text) + t.px(14)
        width += (t.px(18) if self._icon else 0) + (t.px(16) if self._menu else 0)
        return QSize(width, t.px(24 if self._icon else 20))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(t.color("sel" if self._tone == "accent" else f"{self._tone}_tint"))
        painter.drawRoundedRect(self.rect(), 4, 4)
        left = t.px(6)
        if self._icon:
            side = t.px(14)
            paint_icon(painter, self._icon, QRectF(left, (self.height() - side) / 2, side, side), self._tone)
            left += side + t.px(4)
        painter.setPen(t.color(self._tone))
        painter.setFont(t.font("body", 600))
        painter.drawText(QRectF(left, 0, self.width() - left, self.height()), Qt.AlignmentFlag.AlignVCenter, self._text)
        if self._menu:
            side = t.px(12)
            paint_icon(painter, "chevron-down",
                       QRectF(self.width() - side - t.px(5), (self.height() - side) / 2, side, side), self._tone)
        if self.hasFocus():
            painter.setPen(QPen(t.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)


class Count(QWidget):
    """A small pill with a figure or a few words: "3 changed"."""

    def __init__(self, text: str = "", tone: str = "unk", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text, self._tone = text, tone
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(text)

    def setText(self, text: str) -> None:
        self._text = text
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        self.setFont(theme().font("caption", 500))
        return QSize(self.fontMetrics().horizontalAdvance(self._text) + theme().px(16), theme().px(17))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(t.color("sel" if self._tone == "accent" else "unk_tint"))
        painter.drawRoundedRect(self.rect(), self.height() / 2, self.height() / 2)
        painter.setPen(t.color("accent" if self._tone == "accent" else "text2"))
        painter.setFont(t.font("caption", 500))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._text)


class Tag(Count):
    """A word in a frame: a quantization, an architecture."""

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(t.color("soft"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        painter.setPen(t.color("text2"))
        painter.setFont(t.font("caption"))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._text)

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(hint.width(), theme().px(20))


class StateLabel(QWidget):
    """The server's state: icon and words."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = IconLabel("circle", 16, "unk")
        self._words = Label("", elide="end")
        # Its own width where there is room, shortened where there is not.
        self._words.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        box = QHBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(6)
        box.addWidget(self._icon)
        box.addWidget(self._words, 1)
        self.show_state(None)

    def show_state(self, state: State | None, words: str | None = None, tone: str | None = None) -> None:
        """`words` and `tone` replace the usual ones: "Loading ≈ 42 %", "Ready, degraded" in warn."""
        name, role = STATES[state]
        if tone == "warn" and state is State.READY:
            name, role = "triangle-alert", "warn"
        self._icon.show_icon(name, role)
        self._words.setText(words or state_word(state))
        self.setAccessibleName(self._words.full_text())

    def text(self) -> str:
        return self._words.full_text()
