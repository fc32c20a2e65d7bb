"""The pane at the right: what the option does here, its values and rules, and what this engine's --help says."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QScrollArea, QWidget

from paddock.desktop.pages.launch.options.editing import Value, said, verbatim
from paddock.desktop.pages.launch.options.entries import UNKNOWN, Entry
from paddock.desktop.pages.launch.options.measures import bounds
from paddock.desktop.pages.launch.options.states import RowState
from paddock.desktop.parts.basic import IconLabel, Label, button, column, empty_layout, panel, row, rule
from paddock.desktop.parts.signs import SEVERITIES
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.engine.model import Engine
from paddock.launch.catalogue import Kind
from paddock.launch.command_line import is_option_variable
from paddock.launch.variables import is_secret

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

WIDTH = 320
_BREAK = "\u200b"
"""Allows a line to end where there is no space."""
_LONG = re.compile(r"(?<![\w-])(?!-)\S{22,}")


class HelpPane(QWidget):
    """`show_entry` fills it; empty until a row is chosen."""

    def __init__(self, desk: Desk, reveal: Callable[[], None]) -> None:
        super().__init__()
        self._desk = desk
        self._shown: object = None
        self.title = Label("", weight=600, wrap=True)
        self.flags = Label("", "mono", "accent", wrap=True)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme().px(12))
        self._grid.setVerticalSpacing(theme().px(8))
        self._grid.setColumnMinimumWidth(0, theme().px(76))
        self._grid.setColumnStretch(1, 1)
        self._from = Label(tr("From this engine’s --help"), "note", "text2")
        self.quote = Label("", "mono", "text2", wrap=True)
        self.quote.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._line = rule()
        inner = QWidget()
        inner.setLayout(column(self.title, self.flags, 4, rule(), 4, self._grid, 8, self._line, 4, self._from,
                               self.quote, None, gap=4, margins=(16, 12, 16, 12)))
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.viewport().setAutoFillBackground(False)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(inner)
        inner.setAutoFillBackground(False)
        self.foreign = Label("", "note", wrap=True)
        show = button(tr("Show"), None, reveal, small=True, name=tr("Show what this engine has not"))
        line = row(IconLabel("info", 16, "accent"), self.foreign, show, gap=8)
        line.setStretch(1, 1)
        self._bottom = QWidget()
        self._bottom.setLayout(column(rule(), line, gap=8, margins=(16, 0, 16, 12)))
        whole = panel("base", column(area, self._bottom, gap=0))
        self.setLayout(column(whole, gap=0))
        self.show_foreign(())

    def show_foreign(self, flags: Sequence[str]) -> None:
        """Flags of the plan that this engine has not."""
        self._bottom.setVisible(bool(flags))
        self.foreign.setText(tr("{count} flag of this plan is not in this engine: {flags}.",
                                plural="{count} flags of this plan are not in this engine: {flags}.",
                                count=len(flags), flags=", ".join(flags[:3]) + ("…" if len(flags) > 3 else "")))

    def show_entry(self, entry: Entry | None, state: RowState, engine: Engine | None, effect: str = "") -> None:
        """Everything that is known about this option."""
        key = (entry, state, engine.name if engine is not None else None, effect)
        if key == self._shown:
            return
        self._shown = key
        empty_layout(self._grid)
        if entry is None:
            self.title.setText(tr("Choose an option to read about it."))
        else:
            self.title.setText(entry.label)
            self._rows(entry, state, engine, effect)
        hint = entry.theirs.hint if entry is not None and entry.theirs is not None else None
        flags = entry.flags if entry is not None else ""
        self.flags.setText(f"{flags} {hint}" if hint and len(hint) < 24 else flags)
        self.flags.setVisible(bool(flags))
        quote = entry.theirs.help.strip() if entry is not None and entry.theirs is not None else ""
        for widget in (self._line, self._from, self.quote):
            widget.setVisible(bool(quote))
        self.quote.setText(breakable(quote))

    def words(self) -> str:
        """All rows as text."""
        parts = [self.title.full_text(), self.flags.full_text()]
        for index in range(self._grid.count()):
            item = self._grid.itemAt(index)
            widget = item.widget() if item is not None else None
            if isinstance(widget, Label):
                parts.append(widget.full_text())
        return "\n".join([*parts, self.quote.full_text()]).replace(_BREAK, "")

    def _add(self, name: str, text: str, kind: str = "note", role: str = "text") -> None:
        if not text:
            return
        at = self._grid.rowCount()
        label = Label(name, "note", "text2", wrap=True)
        value = Label(breakable(text), kind, role, wrap=True)
        self._grid.addWidget(label, at, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(value, at, 1)

    def _rows(self, entry: Entry, state: RowState, engine: Engine | None, effect: str) -> None:
        self._trouble(state)
        self._add(tr("What it does"), entry.help)
        self._add(tr("When"), entry.advice)
        self._add(tr("Effect here"), effect)
        if entry.variable is not None and entry.variable.danger is not None:
            self._add(tr("Danger"), str(entry.variable.danger), role="warn")
        if entry.variable is not None and entry.variable.presence:
            self._add(tr("Rules"), tr("Any value turns it on, 0 as well."))
        self._add(tr("Values"), "  ".join(entry.choices), "mono")
        if entry.option is not None and entry.kind in (Kind.INT, Kind.FLOAT, Kind.RANGE):
            span = bounds(entry.option.low, entry.option.high, entry.option.open_low)
            if span and entry.unit:
                span = tr("{range}, in {unit}", range=span, unit=entry.unit)
            self._add(tr("Range"), span)
        self._add(tr("Default"), entry.default or "", "mono")
        self._add(tr("Now"), self._said(entry, state.value), "mono")
        if state.changed:
            self._add(tr("Profile says"), self._said(entry, state.saved) or tr("not set"),
                      "mono" if state.saved else "note")
        self._add(tr("Repeated"), tr("Each time adds to those before.") if entry.appends else "")
        off = entry.option.negations if entry.option is not None else ()
        if entry.theirs is not None:
            off = entry.theirs.negations
        self._add(tr("Turned off"), ", ".join(off), "mono")
        self._variables(entry)
        self._add(tr("Known to"), _known(entry, engine))

    def _trouble(self, state: RowState) -> None:
        issue = state.issue
        if issue is not None:
            role = SEVERITIES[issue.severity][1]
            at = self._grid.rowCount()
            box = [Label(str(issue.text), "note", role if role != "accent" else "text", wrap=True)]
            fix: list[QWidget] = []
            if issue.fix is not None:
                box.append(Label(str(issue.fix), "note", wrap=True))
                if issue.edits:
                    fix.append(button(tr("Do that"), "wand-sparkles", lambda: self._fix(issue.apply), small=True,
                                      name=str(issue.fix)))
            sign = IconLabel(SEVERITIES[issue.severity][0], 16, role)
            words = column(*box, *([row(*fix, None)] if fix else []), gap=4)
            holder = QWidget()
            holder.setLayout(words)
            self._grid.addWidget(sign, at, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
            self._grid.addWidget(holder, at, 1)
        if state.lock:
            self._add(tr("Locked"), state.lock[:1].upper() + state.lock[1:] + ".")

    def _fix(self, apply: Callable[..., object]) -> None:
        plan = apply(self._desk.plan)
        self._desk.edit(plan)  # type: ignore[arg-type]

    def _said(self, entry: Entry, value: Value) -> str:
        secret = entry.secret or (entry.variable is not None and is_secret(entry.variable.name))
        if entry.group == UNKNOWN:
            return verbatim(entry, value)
        text = said(entry, value)
        return "•••" if secret and text and not text.startswith(("env:", "file:", "keyring:")) else text

    def _variables(self, entry: Entry) -> None:
        if entry.option is not None:
            self._add(tr("Environment"), entry.option.env or "", "mono")
        elif entry.theirs is not None:
            self._add(tr("Environment"), entry.theirs.env or "", "mono")
        elif entry.variable is not None and entry.inherited is not None:
            name = entry.variable.name
            shown = "•••" if is_secret(name) else entry.inherited or tr("empty")
            self._add(tr("Inherited"), shown, "mono")
            if is_option_variable(name):
                self._add("", tr("It sets an option: Paddock takes it out at launch, so that what is shown is what "
                                 "runs. Set it here to keep it."))


def breakable(text: str) -> str:
    """Long words, such as lists and names of variables, may break behind their signs; flags stay whole."""
    return _LONG.sub(lambda word: re.sub(r"([;,/=&?_])", rf"\1{_BREAK}", word[0]), text)


def _known(entry: Entry, engine: Engine | None) -> str:
    option = entry.option
    parts = []
    if option is not None and option.since is not None:
        parts.append(tr("builds from about {build}", build=option.since))
    if option is not None and option.until is not None:
        parts.append(tr("builds up to about {build}", build=option.until))
    if engine is not None and engine.flags_verified and entry.variable is None:
        if entry.theirs is not None:
            parts.insert(0, tr("this engine"))
        elif option is not None:
            parts.insert(0, tr("not this engine"))
    return ", ".join(parts)
