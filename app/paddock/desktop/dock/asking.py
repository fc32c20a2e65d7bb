"""Ask the engine: its own memory figures beside ours, in a small dialog, and its fit to take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QApplication, QDialog, QGridLayout, QScrollArea, QWidget

from paddock.desktop import bridge
from paddock.desktop.bridge import Job
from paddock.desktop.parts.basic import Label, button, column, empty_layout, row, rule
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.units import MIB, MINUS, count_text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.work.engine_fit import Change, EngineFit, FitRow

_WIDTH = 560
_ROWS_HEIGHT = 300


class AskDialog(QDialog):
    """Opens at once and asks; closing it ends the asking. `engine`, `ours`: MiB as llama.cpp rounds them, down."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._asked: Plan = desk.plan
        self.answer: EngineFit | None = None
        self.setWindowTitle(tr("Ask the engine"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(theme().px(_WIDTH))
        self.words = Label(tr("llama.cpp reads the model and reckons; nothing is loaded. A few seconds."), wrap=True)
        self.agreement = Label("", weight=600, wrap=True)
        self.change = Label("", wrap=True)
        self.note = Label("", "caption", "text2", wrap=True)
        self.grid = QGridLayout()
        self.grid.setHorizontalSpacing(theme().px(16))
        self.grid.setVerticalSpacing(theme().px(4))
        self._rows = self._scrolled(self.grid)
        self.take = button(tr("Take the engine’s fit"), "check", self._take, primary=True)
        self.close_button = button(tr("Cancel"), None, self.reject)
        below = row(None, self.take, self.close_button, gap=8)
        self.setLayout(column(self.words, self._rows, self.agreement, self.change, self.note, rule(), below, gap=12,
                              margins=(16, 16, 16, 12)))
        for hidden in (self._rows, self.agreement, self.change, self.note, self.take):
            hidden.hide()
        self.job = Job("ask the engine")
        QApplication.instance().aboutToQuit.connect(self.job.cancel)  # type: ignore[union-attr]

    @staticmethod
    def _scrolled(grid: QGridLayout) -> QScrollArea:
        inner = QWidget()
        inner.setLayout(column(grid, None, margins=(0, 0, 8, 0)))
        return scrolling(inner)

    def ask(self) -> None:
        """Show it and begin."""
        self.open()
        workspace, plan, job = self._desk.workspace, self._asked, self.job
        bridge.run(lambda: workspace.ask_engine(plan, cancelled=job.cancelled), self._answered, self._failed, self,
                   name=job.name, job=job)

    def done(self, result: int) -> None:
        """Closed, by whatever way: the engine that is being asked is ended."""
        self.job.cancel()
        super().done(result)

    def _failed(self, error: AppError) -> None:
        self.words.setText(str(error.what))
        why = " ".join(str(part) for part in (error.why, error.hint) if part)
        self.note.setText(why)
        self.note.setVisible(bool(why))
        self.close_button.setText(tr("Close"))

    def _answered(self, answer: EngineFit) -> None:
        self.answer = answer
        self.words.setText(str(answer.note))
        self._fill(answer.rows)
        self.agreement.setText(_agreement(answer))
        self.agreement.setVisible(bool(answer.rows))
        self.change.setText(_change_words(answer))
        self.change.show()
        self.note.setText(str(answer.fit_note) if answer.changes else "")
        self.note.setVisible(bool(answer.changes))
        self.take.setVisible(bool(answer.changes))
        self.close_button.setText(tr("Close"))

    def _fill(self, rows: tuple[FitRow, ...]) -> None:
        empty_layout(self.grid)
        lines = [line for one in rows for line in _lines(one)]
        heads = (tr("Device"), tr("Memory"), tr("llama.cpp, MiB"), tr("Paddock, MiB"), tr("Difference"))
        for at, cells in enumerate([heads, *lines]):
            for i, text in enumerate(cells):
                cell = Label(text, "caption" if at == 0 else "body", "text2" if at == 0 or i == 1 else "text")
                right = i >= 2
                cell.setAlignment((Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft)
                                  | Qt.AlignmentFlag.AlignVCenter)
                self.grid.addWidget(cell, at, i)
        self.grid.setColumnStretch(0, 1)
        height = self.grid.sizeHint().height() + theme().px(8)
        self._rows.setFixedHeight(min(height, theme().px(_ROWS_HEIGHT)))
        self._rows.setVisible(bool(lines))

    @Slot()
    def _take(self) -> None:
        """The values that it gave become the plan's, unless the plan was changed since: then on top of that."""
        if self.answer is not None:
            plan = self._desk.plan
            for change in self.answer.changes:
                plan = plan.with_(change.option, *change.after.split("\n"))
            self._desk.edit(plan)
        self.accept()


def _lines(one: FitRow) -> list[tuple[str, str, str, str, str]]:
    """A line for each part that either side counts; the device is named once."""
    parts = (tr("weights"), tr("KV cache"), tr("compute"))
    nothing: tuple[None, None, None] = (None, None, None)
    device = tr("{name}, draft", name=one.name) if one.role == "draft" else one.name
    out = []
    for part, theirs, ours, off in zip(parts, one.engine or nothing, one.ours or nothing, one.differences or nothing,
                                       strict=True):
        if theirs or (ours or 0) >= MIB:
            out.append((device, part, _mib(theirs), _mib(ours), _signed(off)))
            device = ""
    return out


def _mib(size: int | None) -> str:
    return count_text(None if size is None else size // MIB)


def _signed(size: int | None) -> str:
    if not size:
        return count_text(size)
    return f"{MINUS if size < 0 else '+'}{count_text(abs(size) // MIB)}"


def _agreement(answer: EngineFit) -> str:
    if answer.agrees:
        return tr("Both agree to the MiB.")
    return tr("They differ where the last column says so.")


def _change_words(answer: EngineFit) -> str:
    if answer.no_fit is not None:
        return str(answer.no_fit)
    if not answer.changes:
        return tr("--fit would change nothing.")
    return tr("--fit would set {changes}.", changes=", ".join(map(_words_of, answer.changes)))


def _words_of(change: Change) -> str:
    """ctx-size 4096 (now 8192)"""
    if change.before is None:
        return tr("--{option} {after} (now not set)", option=change.option, after=change.after)
    return tr("--{option} {after} (now {before})", option=change.option, after=change.after, before=change.before)
