"""Where the parts of a row stand, what its right column says, and how high that makes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QPainter

from paddock.desktop.icons import paint_icon
from paddock.desktop.pages.launch.options.entries import ENVIRONMENT, PREFIX, STRAY, UNKNOWN, Entry
from paddock.desktop.pages.launch.options.states import RowState, shown_default
from paddock.desktop.parts.signs import SEVERITIES
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.catalogue import Kind
from paddock.launch.command_line import is_option_variable
from paddock.launch.variables import is_secret

ROW, HEADING, LINE = 44, 28, 32
_WRAP = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft
_MINUS = re.compile(r"^-(?=[\d.])")
_FREE = (Kind.PATH, Kind.FOLDER, Kind.TEXT, Kind.LIST, Kind.JSON)


@dataclass(frozen=True)
class Columns:
    """Left edges and widths in pixels."""

    label: int
    label_width: int
    editor: int
    editor_width: int
    note: int
    note_width: int
    acts: int


def columns(width: int) -> Columns:
    """The columns of a list that is this wide."""
    return _columns(width, theme().base_px)


@lru_cache(maxsize=64)
def _columns(width: int, _base_px: float) -> Columns:
    t = theme()
    acts = width - t.px(68)
    label = t.px(26)
    editor_width = max(t.px(132), int((width - t.px(420)) * 0.55))
    editor_width = min(editor_width, t.px(240))
    label_width = max(t.px(140), min(t.px(232), int(width * 0.34)) - t.px(12))
    editor = label + label_width + t.px(12)
    note = editor + editor_width + t.px(12)
    return Columns(label, label_width, editor, editor_width, note, max(t.px(60), acts - note - t.px(4)), acts)


@dataclass(frozen=True)
class Note:
    """The right column: the default, and below it an effect or a reason with its sign."""

    default: str
    text: str = ""
    icon: str = ""
    role: str = "text2"


def note_of(entry: Entry, state: RowState, effect: str = "", problem: str = "") -> Note:
    """What stands beside the editor."""
    default = _default(entry)
    if problem:
        return Note(default, problem, "circle-x", "bad")
    if state.issue is not None:
        icon, role = SEVERITIES[state.issue.severity]
        return Note(default, str(state.issue.text), icon, role)
    if state.kept and entry.key != STRAY:
        return Note(default, tr("not in this engine, kept"), "circle-help", "text2")
    if state.lock:
        return Note(default, state.lock, "lock", "text2")
    danger = str(entry.variable.danger) if entry.variable is not None and entry.variable.danger is not None else ""
    if danger and state.is_set:
        return Note(default, danger, "triangle-alert", "warn")
    return Note(default, effect or danger or _range(entry))


def _default(entry: Entry) -> str:
    if entry.group == PREFIX:
        return ""
    if entry.key == STRAY:
        return tr("never launched")
    if entry.variable is not None and entry.inherited is not None:
        shown = "•••" if is_secret(entry.variable.name) else entry.inherited or tr("empty")
        if is_option_variable(entry.variable.name):
            return tr("inherited {value}, taken out at launch", value=shown)
        return tr("inherited {value}", value=shown)
    default = shown_default(entry)
    if default:
        if default == "default":
            return tr("default: as if not given")
        return tr("default {value}", value=_MINUS.sub("\u2212", default))
    if entry.group == UNKNOWN:
        return ""
    if entry.group == ENVIRONMENT:
        return tr("not set by default")
    return tr("default none") if entry.kind in _FREE else tr("default: up to the engine")


def _range(entry: Entry) -> str:
    """"1 to 64", "0 or more"."""
    option = entry.option
    if option is None or entry.kind not in (Kind.INT, Kind.FLOAT, Kind.RANGE):
        return ""
    span = bounds(option.low, option.high, option.open_low)
    if option.choices:
        return tr("{range}, or {words}", range=span or tr("a number"), words=", ".join(option.choices))
    return span


def bounds(low: float | None, high: float | None, open_low: bool = False) -> str:
    """A range in words; "" where there is none."""
    if low is not None and high is not None:
        return tr("{low} to {high}", low=_plain(low), high=_plain(high))
    if low is not None and open_low:
        return tr("more than {low}", low=_plain(low))
    if low is not None:
        return tr("{low} or more", low=_plain(low))
    return tr("{high} at most", high=_plain(high)) if high is not None else ""


def _plain(number: float) -> str:
    return f"{number:g}".replace("-", "\u2212") if abs(number) < 1e6 else str(int(number))


def row_height(note: Note, width: int, lines: int) -> int:
    """Height of a row: two lines of text, or as many as its reason and its editor need."""
    return _row_height(note, width, lines, theme().base_px)


@lru_cache(maxsize=2048)
def _row_height(note: Note, width: int, lines: int, _base_px: float) -> int:
    t = theme()
    text = t.px(20) if note.default else 0
    if note.text:
        room = width - (t.px(18) if note.icon else 0)
        metrics = QFontMetrics(t.font("caption"))
        text += metrics.boundingRect(QRect(0, 0, room, 1000), int(_WRAP), note.text).height()
    return max(t.px(ROW), text + t.px(10), lines * t.px(LINE) + t.px(12) if lines > 1 else 0)


def paint_note(painter: QPainter, note: Note, place: QRect, locked: bool) -> None:
    """The right column, centred in its place."""
    t = theme()
    indent = t.px(18) if note.icon else 0
    height = 0
    if note.text:
        metrics = QFontMetrics(t.font("caption"))
        height = metrics.boundingRect(QRect(0, 0, place.width() - indent, 1000), int(_WRAP), note.text).height()
    first = t.px(18) if note.default else 0
    top = place.top() + max(0, (place.height() - first - height) // 2)
    if note.default:
        painter.setFont(t.font("note"))
        painter.setPen(t.color("text3" if locked else "text2"))
        shown = painter.fontMetrics().elidedText(note.default, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(QRect(place.left(), top, place.width(), first), Qt.AlignmentFlag.AlignVCenter, shown)
    if note.text:
        painter.setFont(t.font("caption"))
        if note.icon:
            side = t.px(13)
            paint_icon(painter, note.icon, QRectF(place.left(), top + first + 1, side, side), note.role)
        painter.setPen(t.color(note.role if note.role in ("bad", "warn") else "text2"))
        painter.drawText(QRect(place.left() + indent, top + first, place.width() - indent, height + 2), int(_WRAP),
                         note.text)


def paint_marked(painter: QPainter, text: str, place: QRect, terms: Sequence[str]) -> None:
    """One line of text, shortened at the end, search hits on a tint; font and pen are the painter's."""
    metrics = painter.fontMetrics()
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, place.width())
    low = shown.lower()
    for term in terms:
        at = low.find(term)
        while at >= 0:
            left = place.left() + metrics.horizontalAdvance(shown[:at])
            width = metrics.horizontalAdvance(shown[at:at + len(term)])
            painter.fillRect(QRect(left, place.top() + 1, width, place.height() - 2), theme().color("mark"))
            at = low.find(term, at + len(term))
    base = place.top() + (place.height() + metrics.ascent() - metrics.descent()) / 2
    painter.drawText(QPointF(place.left(), base), shown)
