"""Larger parts: banner, empty state, progress, segments, fixes, figures, page header."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from paddock.desktop.bridge import Job
from paddock.desktop.icons import paint_icon
from paddock.desktop.parts.basic import IconLabel, Label, button, column, panel, row, rule, tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

_TONE_ICONS = {"bad": "circle-x", "warn": "triangle-alert", "accent": "info", "ok": "circle-check", "unk": "info"}


class Banner(QWidget):
    """What, then why, then the one best act. Hidden until `show_text`; tones: bad, warn, accent, ok."""

    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tone = "accent"
        self._icon = IconLabel("info", 18)
        self._what = Label("", weight=600, wrap=True)
        self._why = Label("", wrap=True)
        self._acts = QHBoxLayout()
        self._acts.setSpacing(8)
        self._close = tool_button("x", tr("Close this message"), self._dismiss)
        words = column(self._what, self._why, gap=0)
        self.setLayout(row(self._icon, words, self._acts, self._close, gap=12, margins=(16, 8, 8, 8)))
        self.hide()

    def show_text(self, tone: str, what: str, why: str = "",
                  acts: Sequence[tuple[str, str | None, Callable[[], Any]]] = (), closable: bool = True) -> None:
        """`acts`: (text, icon, function); the first is the best one."""
        self._tone = tone
        self._icon.show_icon(_TONE_ICONS.get(tone, "info"), tone)
        self._what.setText(what)
        self._what.look(weight=600 if why else 400)
        self._why.setText(why)
        self._why.setVisible(bool(why))
        while (item := self._acts.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for text, icon_name, function in acts:
            self._acts.addWidget(button(text, icon_name, function))
        self._close.setVisible(closable)
        self.setAccessibleName(f"{what} {why}".strip())
        self.show()
        self.update()

    @Slot()
    def _dismiss(self) -> None:
        self.hide()
        self.closed.emit()

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), t.color("sel" if self._tone == "accent" else f"{self._tone}_tint"))
        painter.fillRect(0, 0, 3, self.height(), t.color(self._tone))


class EmptyState(QWidget):
    """Icon, what is not here, what to do, one button (more are quiet)."""

    def __init__(self, icon_name: str, what: str, todo: str,
                 acts: Sequence[tuple[str, str | None, Callable[[], Any]]] = (), parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.what = Label(what, weight=500, wrap=True)
        self.todo = Label(todo, "note", "text2", wrap=True)
        for label in (self.what, self.todo):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        buttons = [button(text, name, function) for text, name, function in acts]
        self.buttons = buttons
        self.setLayout(column(
            None, row(None, IconLabel(icon_name, 20), None), self.what, self.todo,
            row(None, *buttons, None), None, gap=8, margins=(24, 16, 24, 16)))


class ProgressLine(QWidget):
    """Work under way, seen after half a second: words with a count, a bar if there is a total, Cancel."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = Label("", "note", "text2", elide="end")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(theme().px(96))
        self._bar.setAccessibleName(tr("Progress"))
        self._cancel = button(tr("Cancel"), None, self._stop, link=True, small=True)
        self.setLayout(row(self._words, self._bar, self._cancel, gap=8))
        self._job: Job | None = None
        self._text, self._since, self._counted = "", 0.0, False
        self._timer = QTimer(self)
        self._timer.setInterval(500)
        self._timer.timeout.connect(self._tick)
        self.hide()

    def follow(self, job: Job, text: str, cancellable: bool = True) -> None:
        """Show this job until it ends."""
        self._job, self._text, self._since, self._counted = job, text, time.monotonic(), False
        self._cancel.setVisible(cancellable)
        self._bar.hide()
        job.progress.connect(self._progress)
        job.ended.connect(self._ended)
        self._timer.start()

    @Slot(int, object, str)
    def _progress(self, done: int, total: int | None, _text: str) -> None:
        self._counted = True
        if total:
            self._words.setText(tr("{what}, {done} of {total}", what=self._text, done=done, total=total))
            self._bar.setRange(0, total)
            self._bar.setValue(done)
        else:
            self._words.setText(tr("{what}, {done}", what=self._text, done=done))
        self._bar.setVisible(bool(total))

    @Slot()
    def _tick(self) -> None:
        if not self._counted:
            seconds = int(time.monotonic() - self._since)
            self._words.setText(tr("{what}, {seconds} s", what=self._text, seconds=seconds) if seconds else self._text)
        self.show()

    @Slot()
    def _ended(self) -> None:
        if self._job is not None and not self._job.running:
            self._timer.stop()
            self.hide()

    @Slot()
    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self._timer.stop()
        self.hide()


class _Segment(QToolButton):
    """Wide enough for its text in bold, which it is when it is chosen. Where room is scarce the air around it goes."""

    _AIR, _TIGHT = 13, 4
    """As in the stylesheet, pixels."""

    def _word(self) -> int:
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        return QFontMetrics(bold).horizontalAdvance(self.text())

    def sizeHint(self) -> QSize:
        return QSize(self._word() + 2 * self._AIR + 4, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(self._word() + 2 * self._TIGHT + 2, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        tight = self.width() < self.sizeHint().width()
        if tight != bool(self.property("tight")):
            self.setProperty("tight", tight)
            self.style().unpolish(self)
            self.style().polish(self)


class Segments(QFrame):
    """A choice of two to five, one always on: `chosen(key)` comes on the person's click only."""

    chosen = Signal(str)

    def __init__(self, choices: Sequence[tuple[str, str]], name: str, parent: QWidget | None = None) -> None:
        """choices: (key, text)."""
        super().__init__(parent)
        self.setProperty("segments", True)
        self.setAccessibleName(name)
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._buttons: dict[str, QToolButton] = {}
        box = QHBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        for index, (key, text) in enumerate(choices):
            made = _Segment()
            made.setText(text)
            made.setCheckable(True)
            made.setProperty("segment", True)
            made.setProperty("last", index == len(choices) - 1)
            made.setAccessibleName(tr("{name}: {choice}", name=name, choice=text))
            made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            self._group.addButton(made)
            self._buttons[key] = made
            box.addWidget(made)
        self._group.buttonClicked.connect(self._clicked)
        first = next(iter(self._buttons.values()))
        first.setChecked(True)

    def select(self, key: str) -> None:
        """Choose without telling."""
        if key in self._buttons:
            self._buttons[key].setChecked(True)

    def key(self) -> str:
        return next(key for key, made in self._buttons.items() if made.isChecked())

    def __contains__(self, key: object) -> bool:
        return key in self._buttons

    def option(self, key: str) -> QToolButton:
        return self._buttons[key]

    @Slot(QAbstractButton)
    def _clicked(self, clicked: QAbstractButton) -> None:
        for key, made in self._buttons.items():
            if made is clicked:
                self.chosen.emit(key)


class FixButton(QAbstractButton):
    """What it sets on the left, what it frees and costs on the right. `idea` carries a lightbulb, a fix a wand."""

    def __init__(self, sets: str, effect: str, idea: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        sets, effect = sets.rstrip("."), effect.rstrip(".")
        self._sets, self._effect, self._idea = sets, effect, idea
        self.setText(sets)
        self.setAccessibleName(sets)
        self.setAccessibleDescription(effect)
        self.setToolTip(f"{sets}\n{effect}")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(240), theme().px(25))

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        focus = self.hasFocus()
        inset = 1.0 if focus else 0.5
        painter.setPen(_pen(t.color("accent" if focus else "soft"), 2 if focus else 1))
        painter.setBrush(t.color("hover" if self.underMouse() else "base"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), 4, 4)
        side, gap = t.px(14), t.px(10)
        paint_icon(painter, "lightbulb" if self._idea else "wand-sparkles",
                   QRectF(gap, (self.height() - side) / 2, side, side), "accent")
        left = gap + side + t.px(8)
        painter.setFont(t.font("note"))
        room = self.width() - left - gap
        metrics = painter.fontMetrics()
        rest = room - metrics.horizontalAdvance(self._sets) * 1.06 - t.px(12)
        right = metrics.elidedText(self._effect, Qt.TextElideMode.ElideRight, max(0, int(max(room * 0.62, rest))))
        used = metrics.horizontalAdvance(right)
        painter.setPen(t.color("text2"))
        painter.drawText(QRectF(left, 0, room, self.height()),
                         Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, right)
        painter.setFont(t.font("note", 500))
        painter.setPen(t.color("text"))
        space = max(0, room - used - t.px(12))
        words = painter.fontMetrics().elidedText(self._sets, Qt.TextElideMode.ElideRight, space)
        painter.drawText(QRectF(left, 0, room, self.height()), Qt.AlignmentFlag.AlignVCenter, words)

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave, QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)


def _pen(colour: QColor, width: float) -> QPen:
    return QPen(colour, width)


class Figure(QWidget):
    """A big figure with its unit, title above and comparison below."""

    def __init__(self, title: str, unit: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = Label(title, "caption", "text2", elide="end")
        self._value = Label("–", "figure", weight=600)
        self._unit = Label(unit, "note", "text2")
        self._note = Label("", "caption", "text2", elide="end")
        self._arrow = IconLabel("arrow-down", 12)
        self._arrow.hide()
        value = row(self._value, self._unit, None, gap=4)
        value.setAlignment(self._unit, Qt.AlignmentFlag.AlignBottom)
        self._unit.setContentsMargins(0, 0, 0, theme().px(5))
        self.setLayout(column(self._title, value, row(self._arrow, self._note, gap=4), gap=0, margins=(16, 6, 8, 6)))

    def show_value(self, value: str, note: str = "", tone: str | None = None, unit: str | None = None) -> None:
        """`tone`: ok or bad put an arrow up or down before the note."""
        self._value.setText(value)
        if unit is not None:
            self._unit.setText(unit)
        self._note.setText(note)
        self._note.look(role=tone or "text2")
        self._arrow.setVisible(tone in ("ok", "bad"))
        if tone in ("ok", "bad"):
            self._arrow.show_icon("arrow-up" if tone == "ok" else "arrow-down", tone)
        self.setAccessibleName(f"{self._title.full_text()}: {value} {self._unit.full_text()}. {note}")

    def set_title(self, title: str) -> None:
        self._title.setText(title)


class PageHeader(QFrame):
    """The strip on top of a page: title, a note, and what the page adds to the right."""

    def __init__(self, title: str, note: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        self.title = Label(title, "title", weight=600)
        self.note = Label(note, "body", "text2", elide="end")
        self.left = QHBoxLayout()
        self.left.setSpacing(12)
        self.right = QHBoxLayout()
        self.right.setSpacing(12)
        line = row(self.title, self.left, self.note, self.right, gap=12, margins=(16, 0, 16, 0))
        line.setStretch(2, 1)
        line.addStrut(theme().px(47))
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addLayout(line, 1)
        box.addWidget(rule())
        self.setFixedHeight(theme().px(48))


def section(title: str, note: str = "", *right: QWidget) -> QWidget:
    """A heading within a page."""
    made = panel("base")
    words = Label(title, weight=600)
    more = Label(note, "note", "text2", elide="end")
    line = row(words, more, *right, gap=8)
    line.setStretch(1, 1)
    made.setLayout(line)
    return made
