"""The dock, full or folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QWidget

from paddock.desktop.dock.bars import FullBars, MiniBars, bars_for
from paddock.desktop.dock.control import Control, blocked
from paddock.desktop.dock.line import CommandLine
from paddock.desktop.dock.verdict import MOST_FIXES, VerdictLine, VerdictPane, closing_words, verdict_of
from paddock.desktop.parts.basic import column, row, rule, tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.model import Fix, Verdict

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

FULL, FOLDED = 200, 56
NARROW, TINY = 1000, 620


class Dock(QFrame):
    """Bars | verdict, reason, fixes | Launch and state; the command line below. Folded: one line of the same."""

    folded = Signal(bool)
    """The person pressed the chevron: wants it folded or not."""

    stopPressed = Signal()  # noqa: N815

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self.setProperty("panel", "window")
        self._stack = QStackedWidget()
        self._stack.addWidget(self._make_full())
        self._stack.addWidget(self._make_folded())
        self.setLayout(column(rule(), self._stack, gap=0))
        self._line_in_fold = False
        self.set_folded(False)
        for control in (self.control, self.small_control):
            control.launchPressed.connect(self.launch)
            control.stopPressed.connect(self.stopPressed)
        for pane in (self.verdict, self.small_verdict):
            pane.fixed.connect(self._fix)
        desk.planChanged.connect(self.refresh)
        desk.previewChanged.connect(self.refresh)
        desk.whatIfChanged.connect(self.refresh)
        desk.recordChanged.connect(self.refresh)
        desk.enginesChanged.connect(self.refresh)
        desk.machineChanged.connect(self.refresh)
        desk.runsChanged.connect(self.refresh)
        desk.runStateChanged.connect(self.refresh)
        desk.runDiagnosed.connect(self.refresh)
        self.refresh()

    def _make_full(self) -> QWidget:
        made = QWidget()
        self.bars = FullBars()
        self.verdict = VerdictPane()
        self.control = Control(self._desk, full=True)
        self.line = CommandLine(self._desk, full=True)
        self._chevron_down = tool_button("chevron-down", tr("Fold the dock"), lambda: self.folded.emit(True))
        top = QHBoxLayout()
        top.setSpacing(theme().px(24))
        top.addWidget(self.bars, 17)
        top.addWidget(self.verdict, 10)
        top.addWidget(self.control)
        details = tool_button("info", tr("The estimate in full: parts, bands, who else holds memory"),
                              self.line.show_details)
        below = row(self.line, details, self._chevron_down, gap=4)
        for widget in (details, self._chevron_down):
            below.setAlignment(widget, Qt.AlignmentFlag.AlignTop)
        made.setLayout(column(top, below, gap=theme().px(10), margins=(16, 10, 16, 8)))
        made.layout().setStretch(0, 1)  # type: ignore[union-attr]
        return made

    def _make_folded(self) -> QWidget:
        made = QWidget()
        self.small_bars = MiniBars()
        self.small_verdict = VerdictLine()
        self.small_control = Control(self._desk, full=False)
        self.small_line = CommandLine(self._desk, full=False)
        self.small_line.hide()
        self._chevron_up = tool_button("chevron-up", tr("Unfold the dock"), lambda: self.folded.emit(False))
        line = row(self.small_bars, self.small_verdict, self.small_line, self.small_control, self._chevron_up, gap=16,
                   margins=(16, 0, 12, 0))
        line.setStretch(1, 1)
        made.setLayout(line)
        self._folded_row = line
        return made

    def set_folded(self, folded: bool) -> None:
        """Fold or unfold without telling. The keyboard goes from a control to its twin in the other form."""
        twins = [(self.control.button, self.small_control.button), (self.line.edit, self.small_line.edit),
                 (self._chevron_down, self._chevron_up)]
        shown = next((pair[int(folded)] for pair in twins if pair[int(not folded)].hasFocus()), None)
        self._stack.setCurrentIndex(int(folded))
        self.setFixedHeight(theme().px(FOLDED if folded else FULL))
        if shown is not None and shown.isVisibleTo(self):
            shown.setFocus(Qt.FocusReason.OtherFocusReason)

    def is_folded(self) -> bool:
        return self._stack.currentIndex() == 1

    def show_line_when_folded(self, on: bool) -> None:
        """On Run the command line stands where the reason stands elsewhere."""
        self._line_in_fold = on
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        narrow = self.width() < theme().px(NARROW)
        self.small_bars.set_narrow(narrow)
        tiny = self.width() < theme().px(TINY)
        self.small_bars.set_most(1 if tiny else 2 if narrow else 4 if not self._line_in_fold else 3)
        with_line = self._line_in_fold and not narrow
        self.small_line.setVisible(with_line)
        self.small_verdict.reason.setVisible(not with_line and not tiny)
        self._folded_row.setStretch(1, 0 if with_line else 1)
        self._folded_row.setStretch(2, 1 if with_line else 0)

    @Slot()
    def _fix(self, fix: Fix) -> None:
        self._desk.edit(fix.plan)

    @Slot()
    def launch(self) -> None:
        """Start what is in sight: a command line that was edited becomes the plan first."""
        line = self.small_line if self.is_folded() else self.line
        if line.apply_pending():
            self._desk.launch()

    @Slot()
    def refresh(self) -> None:
        """Read everything anew from the desk."""
        desk = self._desk
        runs_this = desk.live() and desk.run is not None and desk.run.preview.plan == desk.plan
        bars = bars_for(desk.preview if desk.model_path() else None, desk.machine, desk.run if runs_this else None)
        verdict, reason, second = verdict_of(desk)
        fixes = desk.what_if.fixes if desk.what_if.plan == desk.plan else ()
        ideas = verdict is Verdict.FITS
        self.bars.show_bars(bars)
        self.small_bars.show_bars(bars)
        why = "" if desk.live() or desk.preview is None or not desk.preview.errors else blocked(desk)
        waits = tr("Launch waits: {why}", why=why) if why else ""
        self.verdict.show_verdict(verdict, reason, second)
        self.verdict.show_why(waits)
        self.small_verdict.show_verdict(verdict, waits or reason, "" if waits else second)
        shown = fixes[:2] if why else fixes
        self.verdict.show_fixes(shown, ideas)
        self.verdict.show_closing(closing_words(desk) if len(shown) < MOST_FIXES else "")
        self.small_verdict.show_fixes(fixes, ideas)
        self.control.refresh()
        self.small_control.refresh()
        self.line.refresh()
        self.small_line.refresh()


