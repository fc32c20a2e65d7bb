"""How the map is drawn: lanes, cells, what a pattern moves, the boundaries between devices."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from paddock.desktop.pages.launch.placement import words
from paddock.desktop.pages.launch.placement.geometry import BAND_KINDS, Geometry
from paddock.desktop.parts.hatch import draw_pattern
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.placement_map import EMBEDDING, Cell, Pattern, PlacementMap
from paddock.units import GIB, bytes_text, gib_text

_SEEN = 0.02
"""Part of a full cell below which weights are not drawn: a router or a norm left behind looks empty."""
_STEPS = (1, 2, 4, 5, 10, 20, 40, 100)


@dataclass(frozen=True)
class Overlay:
    """What the chosen pattern moves: columns by (row index, band)."""

    pattern: Pattern
    lands: dict[tuple[int, int], set[int]]
    leaves: dict[tuple[int, int], set[int]]


def kind_colours() -> dict[str, QColor]:
    """experts, ffn, attention, kv, other, embedding, as they are now; "empty" is the dash."""
    t = theme()
    return {"experts": t.data(1), "ffn": t.data(1), "attention": t.color("attention"), "kv": t.data(2),
            "other": t.color("edge"), "embedding": t.color("embedding"), "empty": t.color("soft")}


def paint_map(painter: QPainter, place: Geometry, descriptions: dict[str, str], overlay: Overlay | None,
              shares: tuple[int, ...], boundaries: tuple[int, ...], explicit: bool) -> None:
    """Everything but the cursor and the focus frame."""
    found = place.found
    label = _split_label(painter, place, shares, boundaries, explicit)
    reach = theme().px(9)
    handles = [QRectF(place.x(b) - reach, 0, 2 * reach, place.axis) for b in boundaries]
    _axis(painter, place, handles if label is None else [*handles, label])
    most = _most(found)
    for row in range(len(found.rows)):
        _names(painter, place, row, descriptions)
        _sums(painter, place, row)
        painter.fillRect(place.lane(row), theme().color("alt"))
    painter.save()
    painter.setClipRect(QRectF(place.left, place.axis, place.plot, place.height - place.axis))
    colours = kind_colours()
    seen = [c for c in found.columns if place.left < place.x(c + 1) and place.x(c) < place.right]
    for row, made in enumerate(found.rows):
        for column in seen:
            _cell(painter, place, row, column, found.cell(made.name, column), most, colours)
    if overlay is not None:
        _overlay(painter, place, overlay)
    _lines(painter, place, boundaries)
    painter.restore()


def _most(found: PlacementMap) -> tuple[int, int, int]:
    """The largest layer of each band over all devices: what a full cell stands for."""
    out = [1, 1, 1]
    for column in range(found.layers):
        cells = [found.cell(row.name, column) for row in found.rows]
        for band, kinds in enumerate(BAND_KINDS):
            out[band] = max(out[band], sum(c.of(kind) for c in cells for kind in kinds))
    return out[0], out[1], out[2]


def _axis(painter: QPainter, place: Geometry, taken: list[QRectF]) -> None:
    t, found = theme(), place.found
    painter.setFont(t.font("caption"))
    painter.setPen(t.color("text2"))
    metrics = painter.fontMetrics()
    words_at = [(EMBEDDING, tr("embd")), (found.output, tr("out"))]
    room = metrics.horizontalAdvance("188") + 10
    step = next((s for s in _STEPS if s * place.column_width >= room), _STEPS[-1])
    words_at += [(n, str(n)) for n in range(0, found.layers, step)]
    drawn = list(taken)
    for column, text in words_at:
        width = metrics.horizontalAdvance(text) + 2
        x = place.x(column) + (place.column_width - width) / 2
        box = QRectF(x, 0, width, place.axis - 3)
        edge = column in (EMBEDDING, found.output)
        if edge:
            box.moveLeft(min(max(x, place.left - 4), place.right - width + 4))
        inside = place.x(column) >= place.left - 1 and place.x(column) + place.column_width <= place.right + 1
        if inside and not any(box.adjusted(-4, 0, 4, 0).intersects(other) for other in drawn):
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
            drawn.append(box)


def _names(painter: QPainter, place: Geometry, row: int, descriptions: dict[str, str]) -> None:
    t, made = theme(), place.found.rows[row]
    top = place.row_top(row)
    left, bands = 16, t.px(44)
    middle = Qt.AlignmentFlag.AlignVCenter
    painter.setFont(t.font("body", 600))
    painter.setPen(t.color("text" if made.used else "text3"))
    room = place.left - left - bands - t.px(8)
    shown = painter.fontMetrics().elidedText(words.row_word(made.name), Qt.TextElideMode.ElideMiddle, room)
    painter.drawText(QRectF(left, top + t.px(8), room, t.px(18)), middle, shown)
    painter.setFont(t.font("caption"))
    painter.setPen(t.color("text2"))
    metrics = painter.fontMetrics()
    under = descriptions.get(made.name, "") if made.used else tr("not used")
    painter.drawText(QRectF(left, top + t.px(26), room, t.px(16)), middle,
                     metrics.elidedText(under, Qt.TextElideMode.ElideRight, room))
    names = (tr("experts") if place.found.has_experts else tr("FFN"), tr("attn"), tr("KV"))
    for band, name in enumerate(names):
        y, height = place.band(row, band)
        box = QRectF(place.left - bands - t.px(8), y + height / 2 - t.px(8), bands, t.px(16))
        painter.drawText(box, middle | Qt.AlignmentFlag.AlignRight, name)


def _sums(painter: QPainter, place: Geometry, row: int) -> None:
    t = theme()
    weights, kv = place.found.sums(place.found.rows[row].name)
    top, width = place.row_top(row), t.px(96)
    right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
    lines = ((8, weights, tr("weights"), "text", 500), (26, kv, tr("KV"), "text2", 400))
    for offset, size, word, role, weight in lines:
        painter.setFont(t.font("note", weight))
        painter.setPen(t.color(role))
        box = QRectF(place.right, top + t.px(offset), width, t.px(17))
        painter.drawText(box, right, f"{_gib(size)} {word}")


def _gib(size: int) -> str:
    """18.0, 0.94; with its unit where that would be nothing: 2 MiB."""
    if 0 < size < GIB / 100:
        return bytes_text(size)
    return gib_text(size, 1 if size >= GIB or not size else 2)


def _cell(painter: QPainter, place: Geometry, row: int, column: int, cell: Cell, most: tuple[int, int, int],
          colours: dict[str, QColor]) -> None:
    found = place.found
    edge = column in (EMBEDDING, found.output)
    for band, kinds in enumerate(BAND_KINDS):
        box = place.box(row, band, column)
        if edge and band == 0 and cell.weights:
            painter.fillRect(box, colours["embedding"])
            draw_pattern(painter, box, "uprights", theme().pattern_ink(), 1.0)
            continue
        parts = [(k, cell.of(k)) for k in kinds if cell.of(k)] if not edge or band == 2 else []
        if not parts or (band < 2 and sum(size for _, size in parts) < most[band] * _SEEN):
            _dash(painter, box, colours["empty"])
        else:
            _stack(painter, box, parts, most[band], colours)


def _dash(painter: QPainter, box: QRectF, colour: QColor) -> None:
    painter.setPen(colour)
    y, half = round(box.center().y()) + 0.5, min(2.5, box.width() / 6)
    painter.drawLine(QPointF(box.center().x() - half, y), QPointF(box.center().x() + half, y))


def _stack(painter: QPainter, box: QRectF, parts: list[tuple[str, int]], most: int,
           colours: dict[str, QColor]) -> None:
    """Bars from the bottom up; the first is at least 2 px, further kinds are left out when thinner than one."""
    bottom = box.bottom()
    for i, (kind, size) in enumerate(parts):
        height = size / most * box.height()
        if i == 0:
            height = max(2.0, height)
        elif height < 1:
            continue
        height = min(height, bottom - box.top())
        painter.fillRect(QRectF(box.left(), bottom - height, box.width(), height), colours[kind])
        bottom -= height


def _runs(columns: set[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for n in sorted(columns):
        if runs and n == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], n)
        else:
            runs.append((n, n))
    return runs


def _overlay(painter: QPainter, place: Geometry, overlay: Overlay) -> None:
    accent = theme().color("accent")
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for (row, band), columns in overlay.lands.items():
        painter.setPen(QPen(accent, 2))
        for first, last in _runs(columns):
            painter.drawRoundedRect(_outline(place, row, band, first, last), 2, 2)
    widest: QRectF | None = None
    for (row, band), columns in overlay.leaves.items():
        pen = QPen(accent, 1.6)
        pen.setDashPattern([3, 2])
        painter.setPen(pen)
        for first, last in _runs(columns):
            box = _outline(place, row, band, first, last)
            painter.drawRoundedRect(box, 2, 2)
            if widest is None or (band == 0 and box.width() > widest.width()):
                widest = box
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    if widest is not None:
        _moves(painter, widest, overlay.pattern)


def _outline(place: Geometry, row: int, band: int, first: int, last: int) -> QRectF:
    a, b = place.box(row, band, first), place.box(row, band, last)
    return QRectF(a.left() - 1, a.top() - 1, b.right() - a.left() + 2, a.height() + 2)


def _moves(painter: QPainter, box: QRectF, pattern: Pattern) -> None:
    """"1 moves 23.6 GiB to CPU" on a plain plate, where it fits."""
    t = theme()
    text = tr("{number} moves {size} to {device}", number=pattern.number, size=bytes_text(pattern.moved_bytes, 1),
              device=pattern.target)
    painter.setFont(t.font("caption", 600))
    metrics = painter.fontMetrics()
    width = metrics.horizontalAdvance(text)
    if width + 12 > box.width() or metrics.height() > box.height():
        return
    plate = QRectF(box.center().x() - width / 2 - 4, box.center().y() - metrics.height() / 2, width + 8,
                   metrics.height())
    painter.fillRect(plate, t.color("sel"))
    painter.setPen(t.color("accent"))
    painter.drawText(plate, Qt.AlignmentFlag.AlignCenter, text)


def _lines(painter: QPainter, place: Geometry, boundaries: tuple[int, ...]) -> None:
    painter.setPen(QPen(theme().color("text"), 2))
    for layer in boundaries:
        x = round(place.x(layer))
        painter.drawLine(QPointF(x, place.axis - 3), QPointF(x, place.height - place.gap))


def _split_label(painter: QPainter, place: Geometry, shares: tuple[int, ...],
                 boundaries: tuple[int, ...], explicit: bool) -> QRectF | None:
    """"-ts 26 | 11" beside the first handle, or how the engine shares by itself; the place that it takes."""
    if not boundaries:
        return None
    t = theme()
    painter.setFont(t.font("caption", 500))
    painter.setPen(t.color("text"))
    numbers = " | ".join(str(n) for n in shares)
    text = f"-ts {numbers}" if explicit else tr("{shares} by free memory", shares=numbers)
    width, reach = painter.fontMetrics().horizontalAdvance(text) + 2, t.px(10)
    x = place.x(boundaries[0])
    if not place.left - 1 <= x <= place.right + 1:
        return None
    others = [place.x(b) for b in boundaries[1:]]
    left = x + reach if x + reach + width <= place.right + t.px(8) and \
        not any(x < o < x + reach + width + reach for o in others) else x - reach - width
    box = QRectF(left, 0, width, place.axis - 3)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    return box
