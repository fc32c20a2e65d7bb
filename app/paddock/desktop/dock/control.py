"""Launch or Stop, and the server's state in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QPushButton, QWidget

from paddock.desktop.degraded import is_degraded
from paddock.desktop.icons import icon
from paddock.desktop.parts.basic import Label, button, column, row
from paddock.desktop.parts.clamp import ClampLabel
from paddock.desktop.parts.signs import StateLabel, state_word
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.server.model import State
from paddock.units import percent_text, seconds_text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_TICK_MS = 500


def blocked(desk: Desk) -> str:
    """Why Launch cannot be pressed now, in a sentence; "" when it can."""
    if desk.launching:
        return tr("Starting the server.")
    if desk.engines is None:
        return tr("Still looking for llama.cpp.")
    if not any(e.error is None for e in desk.engines):
        return tr("No llama.cpp engine was found.")
    if not desk.plan.settings:
        return tr("Choose a model first.")
    if desk.preview is None or desk.preview.plan != desk.plan:
        return ""
    errors = desk.preview.errors
    return str(errors[0].text) if errors else ""


def state_words(desk: Desk) -> tuple[State | None, str, str | None]:
    """(state, words, tone) of the chosen run."""
    run = desk.run
    if run is None:
        return None, state_word(None), None
    state = run.state
    if state is State.LOADING:
        fraction = run.progress().fraction
        return state, tr("Loading ≈ {percent}", percent=percent_text(fraction)) if fraction is not None else \
            tr("Loading, {time}", time=seconds_text(run.progress().seconds)), None
    if state is State.READY and is_degraded(run):
        return state, tr("Ready, degraded"), "warn"
    if state in (State.FAILED, State.CRASHED):
        found = run.exit.diagnosis if run.exit is not None else None
        return state, tr("Stopped: {cause}", cause=str(found.cause)) if found else state_word(state), None
    return state, state_word(state), None


class Control(QWidget):
    """The button, the state, and below (full) how it is reached."""

    launchPressed = Signal()  # noqa: N815
    stopPressed = Signal()  # noqa: N815

    def __init__(self, desk: Desk, full: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._full = full
        self.state = StateLabel()
        self.note: Label | ClampLabel = ClampLabel(3, "caption", "text2", top=True) if full else \
            Label("", "caption", "text2", elide="end")
        self.button: QPushButton = button(tr("Launch"), "play", self._pressed, primary=True)
        self._stop = False
        if full:
            self.button.setProperty("big", True)
            self.setFixedWidth(theme().px(168))
            self.button.setMinimumWidth(theme().px(168))
            self.setLayout(column(self.button, self.state, self.note, None, gap=8))
        else:
            words = column(None, self.state, self.note, None, gap=0)
            self.note.setMinimumWidth(theme().px(100))
            self.state.setMaximumWidth(theme().px(190))
            self.button.setMinimumWidth(theme().px(94))
            self.setLayout(row(words, self.button, gap=12))
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self.refresh)
        self.refresh()

    def _pressed(self) -> None:
        (self.stopPressed if self._stop else self.launchPressed).emit()

    @Slot()
    def refresh(self) -> None:
        """Read everything anew from the desk."""
        state, words, tone = state_words(self._desk)
        self.state.show_state(state, words, tone)
        self.state.setToolTip(words)
        live = self._desk.live()
        run = self._desk.run
        watched = live and run is not None and run.read_only
        self._show_button(live, tr("Stop watching") if watched else tr("Stop"))
        why = "" if live else blocked(self._desk)
        can = state is not State.STOPPING if live else not why
        # A button that goes grey under the finger would hand the keyboard on: while it works, pressing does nothing.
        waits = (state is State.STOPPING or self._desk.launching) and self.button.hasFocus()
        self.button.setEnabled(can or waits)
        stops = tr("The server goes on without being watched") if watched else tr("Stop the server")
        self.button.setToolTip(why or (stops if live else tr("Start the server (Ctrl+Return)")))
        self.button.setAccessibleDescription(why)
        self.note.setText(self._note(state))
        self.note.setVisible(bool(self.note.full_text()))
        self._timer.start() if state in (State.STARTING, State.LOADING, State.STOPPING) else self._timer.stop()

    def _note(self, state: State | None) -> str:
        run = self._desk.run
        if run is not None and self._desk.live():
            return run.url.removeprefix("http://")
        if not self._full:
            return ""
        found = run.exit.diagnosis if run is not None and run.exit is not None else None
        if found is not None and state in (State.FAILED, State.CRASHED):
            return f"{found.cause} {found.advice}"
        if self._desk.machine is None:
            return tr("Reading this computer…")
        record, preview = self._desk.record, self._desk.preview
        if record is None or preview is None or preview.estimate is None or preview.model is None:
            return ""
        return record.sentence() if record.identity == preview.model.identity else ""

    def _show_button(self, live: bool, stop: str) -> None:
        words = stop if live else tr("Launch")
        if live == self._stop and words == self.button.text():
            return
        self._stop = live
        self.button.setText(words)
        self.button.setAccessibleName(self.button.text())
        self.button.setIcon(icon("square" if live else "play", "text" if live else "on_accent"))
        self.button.setProperty("primary", not live)
        self.button.style().unpolish(self.button)
        self.button.style().polish(self.button)
