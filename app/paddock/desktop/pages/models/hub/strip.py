"""The downloads as lines: name, bar, figures, pause or resume, and away with it."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from paddock.desktop.pages.models.hub.transfers import Phase, Transfer, Transfers
from paddock.desktop.parts.basic import IconLabel, Label, column, empty_layout, panel, row, rule, tool_button
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.library.hub.download import CHECKING, WAITING
from paddock.units import bytes_text, percent_text, seconds_text

_TICK_MS = 500
_MOST_LINES = 3
"""More are scrolled: the page above needs the room."""
_SIGNS = {Phase.WAITING: ("circle-dashed", "text2"), Phase.LOADING: ("download", "accent"),
          Phase.PAUSING: ("circle-dashed", "text2"), Phase.PAUSED: ("circle-dashed", "text2"),
          Phase.FAILED: ("circle-x", "bad"), Phase.DONE: ("circle-check", "ok")}


def figures(transfer: Transfer) -> str:
    """How far it is, in words."""
    done, total = transfer.done_bytes, transfer.total_bytes
    share = percent_text(done / total) if total else ""
    size = tr("{done} of {total}, {share}", done=bytes_text(done), total=bytes_text(total), share=share)
    if transfer.phase is Phase.DONE:
        return tr("{size}, hash checked", size=bytes_text(total))
    if transfer.phase is Phase.FAILED:
        return str(transfer.error)
    if transfer.phase is not Phase.LOADING:
        return {Phase.WAITING: tr("waits its turn"), Phase.PAUSING: tr("pausing …"),
                Phase.PAUSED: tr("paused")}[transfer.phase] + (f" · {size}" if total else "")
    if transfer.what == WAITING:
        return f"{size} · " + tr("no connection, trying again")
    if transfer.what == CHECKING:
        return f"{size} · " + tr("checking what came before")
    speed = transfer.per_s()
    if not speed:
        return size
    left = seconds_text((total - done) / speed) if total else ""
    return f"{size} · " + tr("{speed}/s · {left} left", speed=bytes_text(speed, 1), left=left)


class _Line(QWidget):
    def __init__(self, transfer: Transfer, board: Transfers) -> None:
        super().__init__()
        self.transfer, self._board = transfer, board
        self._sign = IconLabel(*_flat(transfer.phase))
        self._name = Label(transfer.name, weight=500, elide="middle")
        self._words = Label("", "note", "text2", elide="end")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self._bar.setFixedWidth(theme().px(140))
        self._bar.setAccessibleName(tr("Progress of {name}", name=transfer.name))
        self.pause = tool_button("pause", tr("Pause {name}", name=transfer.name), lambda: board.pause(transfer))
        self.resume = tool_button("play", tr("Resume {name}", name=transfer.name), lambda: board.resume(transfer))
        self.remove = tool_button("x", "", lambda: board.remove(transfer))
        box = row(self._sign, self._name, self._bar, self._words, self.pause, self.resume, self.remove, gap=8,
                  margins=(16, 2, 12, 2))
        box.setStretch(1, 2)
        box.setStretch(3, 3)
        self.setLayout(box)
        self.tick()

    def tick(self) -> None:
        """Show the figures of now."""
        t = self.transfer
        self._sign.show_icon(*_flat(t.phase)[::2])
        if (words := figures(t)) != self._words.full_text():
            self._words.setText(words)
        self._words.look(role="bad" if t.phase is Phase.FAILED and not t.offline else "text2")
        self._bar.setValue(round(1000 * t.done_bytes / t.total_bytes) if t.total_bytes else 0)
        self._bar.setVisible(t.phase is not Phase.DONE)
        self.pause.setVisible(t.phase in (Phase.LOADING, Phase.WAITING))
        self.resume.setVisible(t.phase in (Phase.PAUSED, Phase.FAILED))
        said = tr("Take {name} off the list", name=t.name) if t.phase is Phase.DONE else tr(
            "Cancel {name} and remove what came", name=t.name)
        self.remove.setToolTip(said)
        self.remove.setAccessibleName(said)


def _flat(phase: Phase) -> tuple[str, int, str]:
    name, role = _SIGNS[phase]
    return name, 14, role


class TransferStrip(QWidget):
    """Hidden while there is none."""

    def __init__(self, board: Transfers, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._board = board
        self._lines: QVBoxLayout = column(gap=0)
        inner = QWidget()
        inner.setLayout(column(self._lines, None))
        self._scroll = scrolling(inner, focus=False)
        self.setLayout(column(rule(), panel("window", column(
            row(Label(tr("Downloads"), "note", "text2", weight=600), None, margins=(16, 6, 16, 0)), self._scroll, gap=2,
            margins=(0, 0, 0, 6))), gap=0))
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._tick)
        board.changed.connect(self._rebuild)
        self._rebuild()

    @property
    def lines(self) -> list[_Line]:
        items = (self._lines.itemAt(i) for i in range(self._lines.count()))
        found = (item.widget() for item in items if item is not None)
        return [w for w in found if isinstance(w, _Line)]

    @Slot()
    def _rebuild(self) -> None:
        """Lines are made anew only when one came or went, so that the focus stays on a button."""
        if [line.transfer for line in self.lines] != self._board.all:
            empty_layout(self._lines)
            for transfer in self._board.all:
                self._lines.addWidget(_Line(transfer, self._board))
            shown = min(len(self._board.all), _MOST_LINES)
            self._scroll.setFixedHeight(shown * (theme().px(24) + 6))
        self._tick()
        self.setVisible(bool(self._board.all))
        if self._board.busy():
            self._timer.start()
        else:
            self._timer.stop()

    @Slot()
    def _tick(self) -> None:
        for line in self.lines:
            line.tick()
