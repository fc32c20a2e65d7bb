"""The history as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal

from paddock.desktop.parts.flat import FlatTable, Index
from paddock.desktop.tr import tr
from paddock.units import count_text, number_text, seconds_text

if TYPE_CHECKING:
    from paddock.store.rows import SessionRow

CHOOSE, STATE, START, MODEL, PROFILE, ENGINE, DURATION, REQUESTS, SPEED = range(9)
ROW_ROLE = int(Qt.ItemDataRole.UserRole)
SORT_ROLE = ROW_ROLE + 1

MOST = 6
"""Sessions that can be compared at once."""

SPEEDS_SQL = ("SELECT session_id, sum(generated_tokens) / sum(generated_tokens / generation_per_s) FROM request "
              "WHERE generation_per_s > 0 AND generated_tokens > 1 GROUP BY session_id")
"""Generated tokens over generation time: a mean over all requests by their length."""

SIGNS: dict[str, tuple[str, str]] = {
    "stopped": ("circle-check", "ok"), "failed": ("circle-x", "bad"), "crashed": ("circle-x", "bad"),
    "interrupted": ("circle-dashed", "unk"), "detached": ("link", "accent"), "starting": ("loader", "warn"),
    "loading": ("loader", "warn"), "ready": ("circle-dot", "ok"), "stopping": ("loader", "warn"),
}


def letter(number: int) -> str:
    """Of a session in a comparison: A for 1, B for 2, …"""
    return "ABCDEF"[number - 1]


def state_word(state: str) -> str:
    return {"stopped": tr("stopped"), "failed": tr("did not start"), "crashed": tr("crashed"),
            "interrupted": tr("interrupted"), "detached": tr("serves on"), "starting": tr("starting"),
            "loading": tr("loading"), "ready": tr("running"), "stopping": tr("stopping")}.get(state, state)


def local(stamp: str | None) -> datetime | None:
    """A UTC stamp as local time; None for what is no stamp."""
    if not stamp:
        return None
    try:
        return datetime.fromisoformat(stamp).astimezone()
    except ValueError:
        return None


def when_words(stamp: str | None) -> str:
    """Local date and time, to the minute."""
    moment = local(stamp)
    return "–" if moment is None else moment.strftime("%Y-%m-%d %H:%M")


def duration_words(seconds: float) -> str:
    """Whole seconds; an en dash where the end is not known."""
    if math.isnan(seconds):
        return "–"
    return tr("{seconds} s", seconds=round(seconds)) if seconds < 60 else seconds_text(round(seconds))


def duration_s(row: SessionRow) -> float:
    """Seconds from start to end; NaN while it runs or where the end is not known."""
    start, end = local(row.start), local(row.end)
    return (end - start).total_seconds() if start is not None and end is not None else math.nan


@dataclass(frozen=True)
class Shown:
    """One line: the session and its mean speed (t/s, NaN: none)."""

    row: SessionRow
    per_s: float = math.nan


class SessionsModel(FlatTable):
    """The newest first, until a header is clicked."""

    choice_changed = Signal()
    """other sessions are to be compared"""

    _rows: list[Shown]

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(["", tr("State"), tr("Started"), tr("Model"), tr("Profile"), tr("Engine"), tr("Duration"),
                          tr("Requests"), tr("t/s")], frozenset({DURATION, REQUESTS, SPEED}), parent)
        self._chosen: list[int] = []
        self._sorted: tuple[int, bool] | None = None

    @property
    def rows(self) -> Sequence[Shown]:
        return self._rows

    def set_rows(self, rows: Sequence[SessionRow], speeds: Mapping[int, float]) -> None:
        """All anew, in the order that was chosen."""
        self.beginResetModel()
        self._rows = [Shown(r, speeds.get(r.id, math.nan)) for r in rows]
        there = {r.id for r in rows}
        self._chosen = [i for i in self._chosen if i in there]
        if self._sorted is not None:
            self._sort(*self._sorted)
        self.endResetModel()

    @property
    def chosen(self) -> list[int]:
        """Ids of the sessions to compare, the earlier first; six at most."""
        order = {s.row.id: s.row.start for s in self._rows}
        return sorted(self._chosen, key=lambda i: order.get(i, ""))

    def choose(self, session_id: int) -> None:
        """Take a session into the comparison, or out of it; a seventh takes the place of the first."""
        if session_id in self._chosen:
            self._chosen.remove(session_id)
        else:
            self._chosen = [*self._chosen[1 - MOST:], session_id]
        self._choice_changed()

    def clear_choice(self) -> None:
        self._chosen = []
        self._choice_changed()

    def _choice_changed(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, CHOOSE), self.index(len(self._rows) - 1, CHOOSE))
        self.choice_changed.emit()

    def side(self, session_id: int) -> int:
        """1 for A, 2 for B, …, 0 for not chosen."""
        chosen = self.chosen
        return chosen.index(session_id) + 1 if session_id in chosen else 0

    def find(self, session_id: int) -> int:
        """The line of a session; -1 where it is not shown."""
        return next((i for i, s in enumerate(self._rows) if s.row.id == session_id), -1)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        if CHOOSE < column < len(self._headers):
            self.beginResetModel()
            self._sorted = column, order is Qt.SortOrder.DescendingOrder
            self._sort(*self._sorted)
            self.endResetModel()

    def _sort(self, column: int, descending: bool) -> None:
        known = [s for s in self._rows if self._value(s, column) is not None]
        unknown = [s for s in self._rows if self._value(s, column) is None]
        known.sort(key=lambda s: self._value(s, column) or 0, reverse=descending)
        self._rows = known + unknown

    @staticmethod
    def _value(shown: Shown, column: int) -> Any:
        """What a column is sorted by; None is not known and comes last."""
        row = shown.row
        values: dict[int, Any] = {
            STATE: row.state, START: row.start, MODEL: (row.model or "").casefold(),
            PROFILE: row.profile.casefold() if row.profile else None, ENGINE: row.engine, DURATION: duration_s(row),
            REQUESTS: row.requests, SPEED: shown.per_s}
        value = values[column]
        return None if isinstance(value, float) and math.isnan(value) else value

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        shown, column = self._rows[index.row()], index.column()
        if role == ROW_ROLE:
            return shown
        if column == CHOOSE:
            return self._choice(shown, role)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.text(shown, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            words = self.text(shown, column)
            return ", ".join(w for w in (words, shown.row.reason) if w) if column == STATE else words
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        return None

    def _choice(self, shown: Shown, role: int) -> object:
        side = self.side(shown.row.id)
        if role == Qt.ItemDataRole.CheckStateRole:
            return Qt.CheckState.Checked if side else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return tr("chosen as {letter}", letter=letter(side)) if side else tr("not chosen")
        return tr("Choose two or more to compare") if role == Qt.ItemDataRole.ToolTipRole else None

    @staticmethod
    def text(shown: Shown, column: int) -> str:
        row, speed = shown.row, shown.per_s
        return {
            STATE: state_word(row.state), START: when_words(row.start), MODEL: row.model or tr("no model named"),
            PROFILE: row.profile or "–", ENGINE: row.engine or "–",
            DURATION: duration_words(duration_s(row)),
            REQUESTS: count_text(row.requests),
            SPEED: "–" if math.isnan(speed) else number_text(speed, 0 if speed >= 100 else 1)}[column]
