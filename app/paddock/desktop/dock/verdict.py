"""Does it fit, why, and what would make it fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from paddock.desktop.icons import icon
from paddock.desktop.parts.basic import IconLabel, Label, column, empty_layout, row
from paddock.desktop.parts.blocks import FixButton
from paddock.desktop.parts.clamp import ClampLabel
from paddock.desktop.parts.signs import Chip
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.fit.model import Fix, Verdict
from paddock.units import bytes_text, count_text, number_text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.work import Preview

MOST_FIXES = 3


def verdict_of(desk: Desk) -> tuple[Verdict, str, str]:
    """(verdict, reason, a second sentence) for the plan as it is known now."""
    preview = desk.preview
    if desk.engines is None:
        return Verdict.CANT_TELL, tr("Looking for llama.cpp and reading this computer."), ""
    if not desk.model_path():
        usable = any(e.error is None for e in desk.engines)
        if usable and (desk.plan.get("models-dir") or desk.plan.get("models-preset")):
            return Verdict.CANT_TELL, tr("Many models, each loaded when it is asked for: none is judged here."), \
                _held_by_others(desk)
        return Verdict.CANT_TELL, tr("No model chosen yet.") if usable else tr("No model and no engine chosen yet."), \
            _held_by_others(desk)
    if preview is None:
        return Verdict.CANT_TELL, tr("Reading the model."), ""
    if preview.model_error is not None:
        return Verdict.CANT_TELL, _sentence(preview.model_error), ""
    estimate = preview.estimate
    if estimate is None:
        return Verdict.CANT_TELL, tr("There is no estimate for this file."), ""
    if estimate.rejected is not None:
        return Verdict.WONT_FIT if estimate.verdict is Verdict.WONT_FIT else Verdict.CANT_TELL, \
            tr("llama.cpp would refuse this: {reason}", reason=str(estimate.rejected)), ""
    second = _room(desk) or (str(estimate.notes[0]) if estimate.notes else "")
    return estimate.verdict, str(estimate.reason), " ".join(part for part in (second, _allowed(preview)) if part)


def _allowed(preview: Preview) -> str:
    """What memory speed allows, in few words; "" where it is not known."""
    ceiling = preview.ceiling
    if ceiling is None or ceiling.low is None or ceiling.high is None:
        return ""
    low, high = (number_text(rate, 0 if rate >= 10 else 1) for rate in (ceiling.low, ceiling.high))
    if ceiling.sessions:
        return tr("Expect {low} to {high} t/s, going by {count} earlier session.",
                  plural="Expect {low} to {high} t/s, going by {count} earlier sessions.", count=ceiling.sessions,
                  low=low, high=high)
    return tr("Memory speed allows {low} to {high} t/s.", low=low, high=high)


def _sentence(error: AppError) -> str:
    return " ".join(str(part) for part in (error.what, error.why) if part)


def _held_by_others(desk: Desk) -> str:
    machine = desk.machine
    if machine is None or not machine.devices:
        return ""
    held = sum(d.total_bytes - d.free_bytes for d in machine.devices
               if d.total_bytes and d.free_bytes is not None and d.same_as is None)
    return tr("Other programs hold {size} of GPU memory.", size=bytes_text(held, 1))


def _room(desk: Desk) -> str:
    found = desk.what_if
    estimate = desk.preview.estimate if desk.preview is not None else None
    if found.plan != desk.plan or estimate is None or estimate.verdict is not Verdict.FITS or not found.fits_up_to:
        return ""
    return tr("Room for {tokens} tokens of context in all.", tokens=count_text(found.fits_up_to))


def closing_words(desk: Desk) -> str:
    """Which program to close, where that helps."""
    best = desk.what_if.others.best if desk.what_if.plan == desk.plan else None
    return "" if best is None else str(best.text)


class VerdictPane(QWidget):
    """Chip, reason in at most two lines, up to three fixes; above them why Launch is disabled, if it is."""

    fixed = Signal(object)
    """Fix"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chip = Chip()
        self.reason = ClampLabel(2)
        self.why = Label("", "note", "bad", wrap=True)
        self._why_icon = IconLabel("lock", 14, "bad")
        self._why_row = QWidget()
        self._why_row.setLayout(row(self._why_icon, self.why, gap=6))
        self._fixes = QVBoxLayout()
        self._fixes.setSpacing(4)
        self._shown: tuple[Fix, ...] = ()
        top = row(self.chip, self.reason, gap=8)
        top.setStretch(1, 1)
        self.closing = Label("", "note", "text2", elide="end")
        self.setLayout(column(self._why_row, top, 2, self._fixes, self.closing, None, gap=6))
        self._why_row.hide()
        self.closing.hide()

    def show_verdict(self, verdict: Verdict, reason: str, second: str) -> None:
        self.chip.show_verdict(verdict)
        self.reason.setText(reason, second)

    def show_why(self, why: str) -> None:
        """Why Launch is disabled; "" when it is not."""
        self.why.setText(why)
        self._why_row.setVisible(bool(why))

    def show_closing(self, words: str) -> None:
        """Which program to close, below the fixes where there is room for it."""
        self.closing.setText(words)
        self.closing.setVisible(bool(words))

    def show_fixes(self, fixes: tuple[Fix, ...], ideas: bool) -> None:
        if fixes == self._shown:
            return
        self._shown = fixes
        empty_layout(self._fixes)
        for fix in fixes[:MOST_FIXES]:
            made = FixButton(str(fix.sets), str(fix.effect), idea=ideas)
            made.clicked.connect(lambda _checked=False, chosen=fix: self.fixed.emit(chosen))
            self._fixes.addWidget(made)


class VerdictLine(QWidget):
    """The folded form: chip with the fixes in its menu, reason in two lines."""

    fixed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chip = Chip()
        self.reason = ClampLabel(2)
        self._fixes: tuple[Fix, ...] = ()
        self._ideas = False
        line = row(self.chip, self.reason, gap=12)
        line.setStretch(1, 1)
        self.setLayout(line)
        self.chip.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.chip.activated.connect(self.open_menu)

    def show_verdict(self, verdict: Verdict, reason: str, second: str) -> None:
        self.chip.show_verdict(verdict)
        self.reason.setText(reason, second)

    def show_fixes(self, fixes: tuple[Fix, ...], ideas: bool) -> None:
        self._fixes, self._ideas = fixes, ideas
        self.chip.set_menu_mark(bool(fixes))

    @Slot()
    def open_menu(self) -> None:
        if not self._fixes:
            return
        menu = QMenu(self)
        for fix in self._fixes:
            action = menu.addAction(icon("lightbulb" if self._ideas else "wand-sparkles", "accent"),
                                    f"{fix.sets}   {fix.effect}")
            action.triggered.connect(lambda _checked=False, chosen=fix: self.fixed.emit(chosen))
        menu.popup(self.chip.mapToGlobal(QPoint(0, -menu.sizeHint().height())))

