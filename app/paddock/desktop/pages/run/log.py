"""The log: any number of lines shown as they come, searched and filtered, without ever laying them all out.

Only the lines in sight are painted. New lines are fetched in one batch a tick; the oldest leave when there are more
than `KEPT` (the file has them all).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from paddock.desktop.plots import ink
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.server.model import LogLine

KEPT = 200_000
_DROP = 20_000
_LEVELS = {"D": 0, "I": 1, "W": 2, "E": 3}


def passes(line: LogLine, least: int, needle: str) -> bool:
    """Level at least `least` (a line without a level counts as information) and the text found, case aside."""
    return _LEVELS.get(line.level or "I", 1) >= least and (not needle or needle in line.text.lower())


class LogLines:
    """The lines kept, and which of them pass the filter."""

    def __init__(self) -> None:
        self._lines: list[LogLine] = []
        self._shown: list[int] = []
        """Numbers of the lines that pass, rising; unused while nothing is filtered."""
        self._least, self._needle = 0, ""
        self.warnings = self.missed = 0
        self.last = 0
        """Number of the newest line that was taken in."""

    @property
    def filtered(self) -> bool:
        return bool(self._least or self._needle)

    def add(self, lines: Sequence[LogLine]) -> None:
        """The next lines in order; numbers that are left out were too many to take and are only in the file."""
        if not lines:
            return
        self.missed += max(0, lines[0].number - self.last - 1)
        self._lines.extend(lines)
        self.last = lines[-1].number
        self.warnings += sum(1 for line in lines if line.level in ("W", "E"))
        if self.filtered:
            least, needle = self._least, self._needle
            self._shown.extend(line.number for line in lines if passes(line, least, needle))
        if len(self._lines) > KEPT:
            del self._lines[:len(self._lines) - KEPT + _DROP]
            del self._shown[:bisect.bisect_left(self._shown, self._lines[0].number)]

    def filter(self, least: int, text: str) -> None:
        self._least, self._needle = least, text.strip().lower()
        self._shown = []
        if self.filtered:
            self._shown = [line.number for line in self._lines if passes(line, self._least, self._needle)]

    @property
    def needle(self) -> str:
        return self._needle

    def clear(self) -> None:
        self._lines, self._shown, self.warnings, self.last, self.missed = [], [], 0, 0, 0

    def __len__(self) -> int:
        return len(self._shown) if self.filtered else len(self._lines)

    def line(self, row: int) -> LogLine:
        if not self.filtered:
            return self._lines[row]
        return self._lines[self._index(self._shown[row])]

    def _index(self, number: int) -> int:
        guess = number - self._lines[0].number
        if 0 <= guess < len(self._lines) and self._lines[guess].number == number:
            return guess
        return bisect.bisect_left(self._lines, number, key=lambda line: line.number)

    def row_of(self, number: int) -> int | None:
        """The row of a line, or None where it is not shown."""
        if not len(self):
            return None
        if self.filtered:
            row = bisect.bisect_left(self._shown, number)
            return row if row < len(self._shown) and self._shown[row] == number else None
        index = self._index(number)
        return index if index < len(self._lines) and self._lines[index].number == number else None


class LogView(QAbstractScrollArea):
    """Paints what is in sight. Lines are selected as wholes: click, Shift, drag, arrows; Ctrl+C copies them."""

    bottom_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.nothing = ""
        """Why there will be no line, where that is so."""
        self.lines = LogLines()
        self._anchor: int | None = None
        self._current: int | None = None
        self._at_bottom = True
        self._mark: int | None = None
        self._widest = 0
        self.setAccessibleName(tr("Log"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        theme().changed.connect(self.restyle)
        self.restyle()

    # -- content -----------------------------------------------------------------------------------------------------

    def add(self, lines: Sequence[LogLine]) -> None:
        """New lines; the view moves along only where it stood at the bottom already."""
        if lines:
            first = self._first_number()
            self.lines.add(lines)
            self._after_change(first)

    def filter(self, least: int, text: str) -> None:
        """Least level 0 to 3 (debug, information, warning, error) and a text to find."""
        first = self._first_number()
        self._anchor = self._current = None
        self.lines.filter(least, text)
        self._after_change(first)

    def clear(self) -> None:
        self.lines.clear()
        self._anchor = self._current = self._mark = None
        self._at_bottom = True
        self._after_change(None)

    def mark(self, number: int | None) -> None:
        """Tint one line (the proof of a diagnosis) and bring it into sight."""
        self._mark = number
        row = self.lines.row_of(number) if number is not None else None
        if row is not None:
            self.verticalScrollBar().setValue(max(0, row - self._page() // 2))
        self.viewport().update()

    def find_text(self, text: str) -> int | None:
        """The number of the newest line that holds this text."""
        for row in range(len(self.lines) - 1, -1, -1):
            line = self.lines.line(row)
            if text in line.text:
                return line.number
        return None

    def scroll_to_bottom(self) -> None:
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    @property
    def at_bottom(self) -> bool:
        return self._at_bottom

    def _selection(self) -> tuple[int, int]:
        """First and last row selected; (-1, -1) for none."""
        if self._anchor is None or self._current is None:
            return -1, -1
        return min(self._anchor, self._current), max(self._anchor, self._current)

    def selected_text(self) -> str:
        low, high = self._selection()
        if low < 0:
            return ""
        return "\n".join(self.lines.line(r).text for r in range(low, min(high + 1, len(self.lines))))

    # -- layout ------------------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        font = theme().font("mono")
        self.viewport().setFont(font)
        self.setFont(font)
        self._line = self.fontMetrics().height() + 1
        self._advance = max(1, self.fontMetrics().horizontalAdvance("0"))
        self._ranges()
        self.viewport().update()

    def _page(self) -> int:
        return max(1, self.viewport().height() // self._line)

    def _first_number(self) -> int | None:
        row = self.verticalScrollBar().value()
        return self.lines.line(row).number if row < len(self.lines) else None

    def _after_change(self, first: int | None) -> None:
        at_bottom = self._at_bottom
        self._ranges()
        if at_bottom:
            self.scroll_to_bottom()
        elif first is not None:
            row = self.lines.row_of(first)
            if row is not None:
                self.verticalScrollBar().setValue(row)
        self.viewport().update()

    def _ranges(self) -> None:
        bar = self.verticalScrollBar()
        bar.setPageStep(self._page())
        bar.setSingleStep(1)
        blocked = bar.blockSignals(True)
        bar.setRange(0, max(0, len(self.lines) - self._page()))
        bar.blockSignals(blocked)
        wide = self.horizontalScrollBar()
        wide.setPageStep(self.viewport().width())
        wide.setSingleStep(self._advance * 4)
        wide.setRange(0, max(0, self._widest - self.viewport().width()))

    def _scrolled(self, value: int) -> None:
        at_bottom = value >= self.verticalScrollBar().maximum()
        if at_bottom != self._at_bottom:
            self._at_bottom = at_bottom
            self.bottom_changed.emit(at_bottom)
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        at_bottom = self._at_bottom
        self._ranges()
        if at_bottom:
            self.scroll_to_bottom()

    # -- painting ----------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(self.viewport().rect(), ink.role("base"))
        if not len(self.lines):
            painter.setFont(theme().font("note"))
            painter.setPen(ink.role("text2"))
            text = tr("No line matches.") if self.lines.filtered else tr("The log is empty so far.")
            text = self.nothing or text
            painter.drawText(self.viewport().rect(), int(Qt.AlignmentFlag.AlignCenter), text)
            return
        painter.setFont(self.viewport().font())
        first, left = self.verticalScrollBar().value(), 12 - self.horizontalScrollBar().value()
        low, high = self._selection()
        widest = self._widest
        for i in range(self._page() + 1):
            row = first + i
            if row >= len(self.lines):
                break
            line = self.lines.line(row)
            box = QRectF(0, i * self._line, self.viewport().width(), self._line)
            if low <= row <= high:
                painter.fillRect(box, ink.role("sel"))
            elif line.number == self._mark:
                painter.fillRect(box, ink.role("warn_tint"))
            self._paint_line(painter, line, left, box)
            widest = max(widest, len(line.text[:2000]) * self._advance + 24)
        painter.end()
        if widest != self._widest:
            self._widest = widest
            self.horizontalScrollBar().setRange(0, max(0, widest - self.viewport().width()))

    def _paint_line(self, painter: QPainter, line: LogLine, left: int, box: QRectF) -> None:
        text = line.text[:2000].replace("\t", "    ")
        needle = self.lines.needle
        if needle:
            at = text.lower().find(needle)
            while at >= 0:
                hit = QRectF(left + at * self._advance, box.top(), len(needle) * self._advance, box.height())
                painter.fillRect(hit, ink.role("mark"))
                at = text.lower().find(needle, at + len(needle))
        role = {"W": "warn", "E": "bad", "D": "text3"}.get(line.level or "", "text")
        stamp = len(text) - len(text.lstrip("0123456789.")) if text[:1].isdigit() else 0
        base = int(box.top()) + self.fontMetrics().ascent() + 1
        if stamp:
            painter.setPen(ink.role("text3"))
            painter.drawText(QPoint(left, base), text[:stamp])
        painter.setPen(ink.role(role))
        painter.drawText(QPoint(left + stamp * self._advance, base), text[stamp:])

    # -- selecting ---------------------------------------------------------------------------------------------------

    def _row_at(self, y: float) -> int | None:
        if not len(self.lines):
            return None
        return min(max(self.verticalScrollBar().value() + int(y // self._line), 0), len(self.lines) - 1)

    def _select(self, row: int | None, extend: bool) -> None:
        self._current = row
        if not extend or self._anchor is None:
            self._anchor = row
        if row is not None:
            self.setAccessibleDescription(self.lines.line(row).text)
            first = self.verticalScrollBar().value()
            if row < first:
                self.verticalScrollBar().setValue(row)
            elif row >= first + self._page():
                self.verticalScrollBar().setValue(row - self._page() + 1)
        self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._select(self._row_at(event.position().y()), shift)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._select(self._row_at(event.position().y()), True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.selected_text())
            return
        steps: dict[int, Callable[[int], int]] = {
            Qt.Key.Key_Up: lambda r: r - 1, Qt.Key.Key_Down: lambda r: r + 1,
            Qt.Key.Key_PageUp: lambda r: r - self._page(), Qt.Key.Key_PageDown: lambda r: r + self._page(),
            Qt.Key.Key_Home: lambda r: 0, Qt.Key.Key_End: lambda r: len(self.lines) - 1,
        }
        step = steps.get(event.key())
        if step is None or not len(self.lines):
            super().keyPressEvent(event)
            return
        start = self._current if self._current is not None else self.verticalScrollBar().value()
        row = min(max(step(start), 0), len(self.lines) - 1)
        self._select(row, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
