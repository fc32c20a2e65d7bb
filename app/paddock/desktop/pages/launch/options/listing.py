"""The list of rows. Only rows near the visible part are widgets, made when they come into sight and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget

from paddock.desktop.pages.launch.options.entries import Entry
from paddock.desktop.pages.launch.options.heading import GroupHeading
from paddock.desktop.pages.launch.options.measures import HEADING, columns, note_of, row_height
from paddock.desktop.pages.launch.options.optionrow import OptionRow
from paddock.desktop.pages.launch.options.states import RowState
from paddock.desktop.theme import theme
from paddock.launch.catalogue import Kind

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_WARMING_MS = 25
_AROUND = 120
"""Pixels above and below the visible part that are made too, so that Tab finds the next row."""


@dataclass(frozen=True)
class Block:
    """What the list shows of a group: its heading with counts, then rows and extras."""

    group: str
    name: str
    rows: tuple[Entry, ...]
    total: int
    changes: int
    settings: int
    extras: tuple[tuple[str, int], ...] = ()
    """(key of a widget that `extra` makes, its height); before the rows, or after them where the key ends in "+"."""


@dataclass
class _Item:
    key: str
    top: int
    height: int
    entry: Entry | None = None
    block: Block | None = None


class OptionList(QScrollArea):
    """`show_blocks` says what is to be seen; `picked` tells which row's help is wanted."""

    picked = Signal(str)
    group_seen = Signal(str)
    """The group at the top of the visible part."""
    taken_back = Signal(str)
    cleared = Signal(str)
    touched = Signal()

    def __init__(self, desk: Desk, extra: Callable[[str, QWidget], QWidget]) -> None:
        super().__init__()
        self._desk, self._extra = desk, extra
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.inner = QWidget()
        self.setWidget(self.inner)
        # After setWidget, which turns it on: the page behind it is the background.
        self.inner.setAutoFillBackground(False)
        self._items: list[_Item] = []
        self._made: dict[str, QWidget] = {}
        self._blocks: Sequence[Block] = ()
        self._states: Mapping[str, RowState] = {}
        self._effects: Mapping[str, str] = {}
        self._reasons: Mapping[str, dict[str, str]] = {}
        self._terms: Sequence[str] = ()
        self._heights: dict[str, tuple[object, int, str, int, str]] = {}
        """What each row's height was worked out of; `_tall` holds the result."""
        self._tall: dict[str, int] = {}
        self._chained: tuple[str, ...] = ()
        self._folded: set[str] = set()
        self._searching = False
        self.current = ""
        self._seen = ""
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self.realize)
        self._warming = QTimer(self)
        self._warming.setInterval(_WARMING_MS)
        self._warming.timeout.connect(self._warm)
        self.verticalScrollBar().valueChanged.connect(self.realize)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._focus_moved)

    # -- what is shown -------------------------------------------------------------------------------------------

    def show_blocks(self, blocks: Sequence[Block], states: Mapping[str, RowState], effects: Mapping[str, str],
                    reasons: Mapping[str, dict[str, str]], terms: Sequence[str], searching: bool) -> None:
        """Lay the rows out anew and fill those that are visible."""
        anchor = self._anchor()
        self._blocks, self._states, self._effects = blocks, states, effects
        self._reasons, self._terms, self._searching = reasons, terms, searching
        self._layout()
        self._hold(anchor)
        self.realize()
        self._warming.start()

    def _anchor(self) -> tuple[str, int]:
        """What stands at the top, and how far it is scrolled: rows above it may grow without moving what is read."""
        low = self.verticalScrollBar().value()
        top = next((i for i in self._items if i.top + i.height > low), None)
        return (top.key, low - top.top) if top is not None else ("", 0)

    def _hold(self, anchor: tuple[str, int]) -> None:
        item = next((i for i in self._items if i.key == anchor[0]), None)
        if item is not None and self.verticalScrollBar().value() > 0:
            self.verticalScrollBar().setValue(item.top + min(anchor[1], item.height))

    def listed(self) -> list[str]:
        """The rows that are listed, folded ones left out."""
        return [item.key for item in self._items if item.entry is not None]

    def row(self, key: str) -> OptionRow | None:
        """The widget of a row, made if need be; None where it is not listed."""
        item = next((i for i in self._items if i.key == key and i.entry is not None), None)
        if item is None:
            return None
        made = self._widget(item)
        return made if isinstance(made, OptionRow) else None

    def heading(self, group: str) -> GroupHeading | None:
        item = next((i for i in self._items if i.key == f"#{group}"), None)
        made = self._widget(item) if item is not None else None
        return made if isinstance(made, GroupHeading) else None

    def extra(self, key: str) -> QWidget | None:
        """The widget of an extra, if it is listed."""
        item = next((i for i in self._items if i.key == f"+{key}"), None)
        return self._widget(item) if item is not None else None

    def _layout(self) -> None:
        width, top = self.viewport().width(), 0
        items: list[_Item] = []

        def add(key: str, height: int, entry: Entry | None = None, block: Block | None = None) -> None:
            nonlocal top
            items.append(_Item(key, top, height, entry, block))
            top += height

        for block in self._blocks:
            add(f"#{block.group}", theme().px(HEADING), block=block)
            if block.group in self._folded and not self._searching:
                continue
            for key, height in block.extras:
                if not key.endswith("+"):
                    add(f"+{key}", theme().px(height))
            for entry in block.rows:
                add(entry.key, self._height(entry, width), entry)
            for key, height in block.extras:
                if key.endswith("+"):
                    add(f"+{key}", theme().px(height))
        self._items = items
        self.inner.setFixedSize(width, max(top, 1))

    def _height(self, entry: Entry, width: int) -> int:
        state, effect = self._states[entry.key], self._effects.get(entry.key, "")
        made = self._made.get(entry.key)
        problem, lines = "", 1
        if isinstance(made, OptionRow) and made.entry.key == entry.key:
            problem, lines = made.editor.problem, made.editor.lines()
        elif entry.appends and not entry.secret and not (entry.kind is Kind.LIST and entry.choices):
            lines = len(state.value) + 1
        known = self._heights.get(entry.key)
        if known is None or known[1:] != (width, problem, lines, effect) or known[0] != (state, theme().scale):
            note = note_of(entry, state, effect, problem)
            height = row_height(note, columns(width).note_width, lines)
            self._heights[entry.key] = ((state, theme().scale), width, problem, lines, effect)
            self._tall[entry.key] = height
        return self._tall[entry.key]

    # -- widgets -------------------------------------------------------------------------------------------------

    @Slot()
    def realize(self) -> None:
        """Make, fill and place what is near the visible part; hide the rest, but never what has the focus."""
        self._later.stop()
        low = self.verticalScrollBar().value()
        high = low + self.viewport().height()
        wanted: dict[str, _Item] = {}
        for item in self._items:
            made = self._made.get(item.key)
            focused = made is not None and made.isAncestorOf(QApplication.focusWidget() or self)
            near = item.top + item.height >= low - _AROUND and item.top <= high + _AROUND
            if near or focused:
                wanted[item.key] = item
        for key, made in self._made.items():
            if key not in wanted and made.isVisibleTo(self.inner):
                made.hide()
        for item in wanted.values():
            made = self._widget(item)
            made.setGeometry(0, item.top, self.inner.width(), item.height)
            if not made.isVisibleTo(self.inner):
                made.show()
        if tuple(wanted) != self._chained:
            self._chained = tuple(wanted)
            self._chain(list(wanted.values()))
        self._tell_group(low)

    def _widget(self, item: _Item) -> QWidget:
        made = self._made.get(item.key)
        if item.entry is not None:
            if not isinstance(made, OptionRow) or made.entry != item.entry:
                if made is not None:
                    self._drop(item.key)
                made = OptionRow(self._desk, item.entry, self.inner)
                made.picked.connect(self.choose)
                made.resized.connect(self.touched)
            made.sync(self._states[item.key], self._effects.get(item.key, ""), self._terms,
                      self._reasons.get(item.key, {}))
            made.set_current(item.key == self.current)
        elif item.block is not None:
            if not isinstance(made, GroupHeading):
                made = self._heading(item.block)
            b = item.block
            made.show_counts(len(b.rows), b.total, b.changes, b.settings,
                             self._searching or b.group not in self._folded)
        elif made is None:
            made = self._extra(item.key[1:], self.inner)
        self._made[item.key] = made
        return made

    def _heading(self, block: Block) -> GroupHeading:
        made = GroupHeading(block.group, block.name, self.inner)
        made.folded.connect(self._fold)
        made.taken_back.connect(self.taken_back)
        made.cleared.connect(self.cleared)
        return made

    def _drop(self, key: str) -> None:
        old = self._made.pop(key)
        old.hide()
        old.setParent(None)
        old.deleteLater()

    @Slot()
    def _warm(self) -> None:
        """Make one more row ahead of time, so that the next group is there at once."""
        for item in self._items:
            if item.entry is not None and item.key not in self._made:
                made = self._widget(item)
                made.hide()
                for child in (made, *made.findChildren(QWidget)):
                    child.ensurePolished()
                return
        self._warming.stop()

    def _chain(self, items: Sequence[_Item]) -> None:
        """Tab goes down the list in the order in which it is seen."""
        before: QWidget = self.inner
        for item in sorted(items, key=lambda i: i.top):
            made = self._made[item.key]
            stops = made.stops() if isinstance(made, OptionRow | GroupHeading) else [
                w for w in (made, *made.findChildren(QWidget)) if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
            for stop in stops:
                QWidget.setTabOrder(before, stop)
                before = stop

    # -- moving --------------------------------------------------------------------------------------------------

    def scroll_to(self, group: str) -> None:
        """Bring the heading of this group to the top."""
        if group in self._folded:
            self._folded.discard(group)
            self._layout()
        for item in self._items:
            if item.key == f"#{group}":
                self.verticalScrollBar().setValue(item.top)
        self.realize()

    def choose(self, key: str) -> None:
        """Make this the row whose help is shown, and bring it into sight."""
        if key != self.current:
            for name in (self.current, key):
                made = self._made.get(name)
                if isinstance(made, OptionRow):
                    made.set_current(name == key)
            self.current = key
            self.picked.emit(key)
        item = next((i for i in self._items if i.key == key), None)
        if item is not None:
            bar = self.verticalScrollBar()
            if item.top < bar.value():
                bar.setValue(item.top - theme().px(HEADING))
            elif item.top + item.height > bar.value() + self.viewport().height():
                bar.setValue(item.top + item.height - self.viewport().height())

    def go(self, steps: int) -> None:
        """The next or the previous row gets the focus."""
        keys = self.listed()
        if not keys:
            return
        at = keys.index(self.current) + steps if self.current in keys else 0
        key = keys[min(max(at, 0), len(keys) - 1)]
        self.choose(key)
        found = self.row(key)
        self.realize()
        if found is not None:
            found.first_stop().setFocus(Qt.FocusReason.TabFocusReason)

    def _fold(self, group: str) -> None:
        self._folded ^= {group}
        self._layout()
        self.realize()

    def _tell_group(self, low: int) -> None:
        seen = ""
        for item in self._items:
            if item.block is not None and (item.top <= low + theme().px(HEADING) // 2 or not seen):
                seen = item.block.group
        if seen != self._seen:
            self._seen = seen
            self.group_seen.emit(seen)

    def seen(self) -> str:
        """The group at the top of the visible part; "" while nothing is listed."""
        return self._seen

    @Slot(QWidget, QWidget)
    def _focus_moved(self, _old: QWidget | None, new: QWidget | None) -> None:
        if new is None or not self.inner.isAncestorOf(new):
            return
        at: QObject | None = new
        while at is not None and at.parent() is not self.inner:
            at = at.parent()
        if isinstance(at, OptionRow):
            self.choose(at.entry.key)
        elif isinstance(at, QWidget):
            self.ensureWidgetVisible(at, 0, 8)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._layout()
        # Rows are placed after the scroll bar knows its new range.
        self._later.start()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._later.start()
        elif event.type() == QEvent.Type.Hide:
            self._warming.stop()
        return super().event(event)
