"""Before you launch: what the checks found, and who holds memory already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, panel, row, rule
from paddock.desktop.parts.signs import SEVERITIES, Count, severity_word
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.model import Verdict
from paddock.launch.model import Issue, Severity
from paddock.units import gib_text
from paddock.work.others import holders_of

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.hardware.model import Machine

WIDTH = 412
_MOST_HOLDERS = 4


def holders(machine: Machine) -> list[tuple[str, str, int]]:
    """(program, devices, bytes) on the GPUs, the largest first; [] when the drivers do not tell."""
    return [(h.name, ", ".join(sorted(device for device, _ in h.held)), h.bytes) for h in holders_of(machine)]


def _below(line: QHBoxLayout, words: Label, fix: QPushButton) -> None:
    """A long fix has a line of its own, in short where even that is too little: the tooltip has it whole."""
    room = theme().px(WIDTH - 16 - 16 - 8 - 16 - 20)
    fix.setText(fix.fontMetrics().elidedText(fix.text(), Qt.TextElideMode.ElideRight, room - theme().px(18)))
    line.removeWidget(words)
    line.addLayout(column(words, row(fix, None), gap=6), 1)


class IssueRow(QWidget):
    """Icon, sentence, and the button that mends it."""

    def __init__(self, desk: Desk, issue: Issue) -> None:
        super().__init__()
        name, role = SEVERITIES[issue.severity]
        sign = IconLabel(name, 16, role, says=severity_word(issue.severity))
        words = Label(str(issue.text), "note", wrap=True)
        words.setAccessibleName(f"{severity_word(issue.severity)}: {issue.text}")
        line = row(sign, words, gap=8, margins=(0, 8, 0, 8))
        line.setStretch(1, 1)
        line.setAlignment(sign, Qt.AlignmentFlag.AlignTop)
        if issue.fix is not None and issue.edits:
            fix = button(str(issue.fix).rstrip("."), None, lambda: desk.edit(issue.apply(desk.plan)), small=True)
            fix.setToolTip(str(issue.fix))
            if fix.sizeHint().width() <= theme().px(150):
                line.addWidget(fix, 0, Qt.AlignmentFlag.AlignTop)
            else:
                _below(line, words, fix)
        elif issue.fix is not None:
            words.setText(f"{issue.text} {issue.fix}")
        self.setLayout(line)


class HostsRow(QWidget):
    """Where the plan names RPC hosts: they are asked at the launch, or now. What is wrong with one stands above."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._words = Label("", "note", "text2", wrap=True)
        self.ask = button(tr("Ask now"), "cable", self._pressed, small=True)
        self.ask.setAccessibleName(tr("Ask now whether the RPC hosts answer"))
        line = row(self._words, self.ask, gap=8)
        line.setStretch(0, 1)
        self.setLayout(line)
        desk.previewChanged.connect(self._answered)
        self._show(waiting=False)

    def _show(self, waiting: bool) -> None:
        self._words.setText(tr("Asking the RPC hosts…") if waiting else
                            tr("A launch asks first whether the RPC hosts answer."))
        self.ask.setEnabled(not waiting)

    def _pressed(self) -> None:
        self._show(waiting=True)
        self._desk.refresh_preview(fresh=True)

    @Slot()
    def _answered(self) -> None:
        self._show(waiting=False)


class BeforePane(QScrollArea):
    """The side pane of Launch; a tab where there is no room beside the form."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._shown: tuple[Issue, ...] | None = None
        self._held: object = None
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.count = Count("")
        self._issues = QVBoxLayout()
        self._issues.setSpacing(0)
        self.anyway = button(tr("Launch anyway"), "play", lambda: desk.launch(anyway=True))
        self._anyway_row = QWidget()
        self._anyway_row.setLayout(row(
            Label(tr("An error stops the launch until it is mended."), "note", "text2", wrap=True), self.anyway))
        self.hosts = HostsRow(desk)
        self._notes = QVBoxLayout()
        self._notes.setSpacing(4)
        self._notes_title = Label(tr("About the estimate"), weight=600)
        self._holders = QGridLayout()
        self._holders.setHorizontalSpacing(16)
        self._holders.setVerticalSpacing(theme().px(4))
        self._holders.setColumnStretch(0, 1)
        self._holders_title = Label(tr("Memory held by others"), weight=600)
        self._holders_unit = Label("GiB", "note", "text2")
        inner = panel("base", column(
            row(Label(tr("Before you launch"), weight=600), self.count, None), rule(), self._issues,
            self.hosts, self._anyway_row, 8, self._notes_title, self._notes, 8,
            row(self._holders_title, self._holders_unit, None), self._holders, None,
            gap=8, margins=(16, 13, 16, 13)))
        self.setWidget(inner)
        desk.previewChanged.connect(self.refresh)
        desk.planChanged.connect(self.refresh)
        desk.runsChanged.connect(self.refresh)
        desk.machineChanged.connect(self._show_holders)
        desk.whatIfChanged.connect(self._show_holders)
        self.refresh()
        self._show_holders()

    def issue_count(self) -> int:
        return len(self._shown or ())

    @Slot()
    def refresh(self) -> None:
        """Show the issues of the latest preview."""
        preview = self._desk.preview
        order = [Severity.ERROR, Severity.WARNING, Severity.HINT]
        issues = tuple(sorted(preview.issues, key=lambda i: order.index(i.severity))) if preview is not None else ()
        has_error = any(i.severity is Severity.ERROR for i in issues)
        self._anyway_row.setVisible(has_error and not self._desk.live() and self._can_launch())
        self.hosts.setVisible(bool(self._desk.plan.get("rpc")) and not self._desk.live())
        notes = preview.estimate.notes if preview is not None and preview.estimate is not None else ()
        if issues != self._shown:
            self._shown = issues
            self._show_issues(issues)
        empty_layout(self._notes)
        for note in notes:
            self._notes.addWidget(Label(str(note), "note", "text2", wrap=True))
        self._notes_title.setVisible(bool(notes))

    def _can_launch(self) -> bool:
        return any(e.error is None for e in self._desk.engines or ()) and not self._desk.launching

    def _show_issues(self, issues: tuple[Issue, ...]) -> None:
        words = tr("{count} check", plural="{count} checks", count=len(issues)) if issues else tr("all clear")
        self.count.setText(words)
        empty_layout(self._issues)
        for issue in issues:
            self._issues.addWidget(IssueRow(self._desk, issue))
            self._issues.addWidget(rule())
        if not issues:
            line = row(IconLabel("circle-check", 16, "ok"),
                       Label(tr("Nothing stands in the way."), "note", "text2"), None, margins=(0, 8, 0, 8))
            self._issues.addLayout(line)

    @Slot()
    def _show_holders(self) -> None:
        machine = self._desk.machine
        found = holders(machine) if machine is not None else []
        told = machine is not None and any(d.processes is not None for d in machine.devices)
        closed = self._closed()
        if (found, told, closed) == self._held:
            return
        self._held = (found, told, closed)
        empty_layout(self._holders)
        rows = found[:_MOST_HOLDERS]
        if len(found) > _MOST_HOLDERS:
            rest = found[_MOST_HOLDERS:]
            rows.append((tr("{count} other", plural="{count} others", count=len(rest)), "", sum(r[2] for r in rest)))
        at = 0
        for name, places, size in rows:
            at += self._add_holder(at, name, places, size, closed.get(name, ""))
        gpus = machine is not None and bool(machine.devices)
        if not rows and gpus:
            words = tr("No other program holds GPU memory.") if told else \
                tr("This driver does not tell who holds memory.")
            self._holders.addWidget(Label(words, "note", "text2", wrap=True), 0, 0)
        for title in (self._holders_title, self._holders_unit):
            title.setVisible(gpus)

    def _closed(self) -> dict[str, str]:
        """Program → what the verdict would become if it were closed; nothing where all fits as it is."""
        found = self._desk.what_if
        if found.plan != self._desk.plan:
            return {}
        return {c.names: tr("If closed: {outcome}.", outcome=str(c.outcome)) for c in found.others.closings
                if len(c.holders) == 1 and c.before is not Verdict.FITS}

    def _add_holder(self, at: int, name: str, places: str, size: int, closed: str) -> int:
        """How many rows it took."""
        self._holders.addWidget(Label(name, "note", elide="end"), at, 0)
        self._holders.addWidget(Label(places, "note", "text2"), at, 1)
        figure = Label(gib_text(size), "note")
        figure.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._holders.addWidget(figure, at, 2)
        if closed:
            self._holders.addWidget(Label(closed, "caption", "text2", elide="end"), at + 1, 0, 1, 3)
        return 2 if closed else 1
