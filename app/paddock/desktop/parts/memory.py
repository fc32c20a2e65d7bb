"""One device's memory as a stacked bar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from paddock.desktop.colours import TERMS
from paddock.desktop.parts.hatch import fill_data, fill_other
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.model import DeviceEstimate, Verdict
from paddock.units import gib_text


@dataclass(frozen=True)
class BarValues:
    """What a bar shows, bytes. `terms`: (term id, bytes) in the order of the bar; None = not known.

    `predicted`: where the model's share was predicted to end, once the terms are measured.
    """

    name: str
    terms: tuple[tuple[str, int], ...] = ()
    other: int | None = None
    total: int | None = None
    free: int | None = None
    margin: int = 0
    verdict: Verdict = Verdict.CANT_TELL
    unknown: str = ""
    """Why it cannot be told; draws the dashed empty frame."""
    predicted: int | None = None

    @property
    def used(self) -> int:
        return sum(size for _, size in self.terms)

    @property
    def left(self) -> int | None:
        """Bytes that stay free; negative: over."""
        if self.free is not None:
            return self.free - self.used
        return None if self.total is None else self.total - (self.other or 0) - self.used


def bar_of(device: DeviceEstimate) -> BarValues:
    """The values of an estimated device."""
    terms = (("weights", device.model), ("kv", device.context), ("compute", device.compute),
             ("draft", sum(device.draft)), ("projector", device.projector), ("overhead", device.overhead))
    budget = device.budget
    return BarValues(
        name=device.name, terms=tuple((t, size) for t, size in terms if size > 0), other=device.other_bytes,
        total=budget.total_bytes if budget else None, free=budget.free_bytes if budget else None,
        margin=device.margin, verdict=device.verdict,
        unknown="" if budget and budget.total_bytes else tr("its memory is not known"))


def measured(values: BarValues, actual: Mapping[str, Any]) -> BarValues:
    """The bar of a running server: what its log says was reserved; the prediction stays as a mark.

    `actual` is shaped like an answer of `fit`: main, draft, overhead. What the log does not tell keeps its estimate.
    """
    def of(part: str) -> Mapping[str, Any] | None:
        return next((r for r in actual.get(part) or () if r.get("name") == values.name), None)

    main, draft = of("main"), of("draft")
    if main is None:
        return values
    known = dict(values.terms)
    known |= {"weights": int(main["model"]), "kv": int(main["context"]), "compute": int(main["compute"])}
    if draft is not None:
        known["draft"] = sum(int(draft[k]) for k in ("model", "context", "compute"))
    terms = tuple((term, known[term]) for term in TERMS if known.get(term, 0) > 0)
    return replace(values, terms=terms, predicted=values.used)


def term_word(term: str) -> str:
    """Weights, KV cache, Compute, Draft, Projector, Overhead, Other, Free, Margin."""
    return {"weights": tr("Weights"), "kv": tr("KV cache"), "compute": tr("Compute"), "draft": tr("Draft"),
            "projector": tr("Projector"), "overhead": tr("Overhead"), "other": tr("Other"), "free": tr("Free"),
            "margin": tr("Margin")}[term]


def free_words(values: BarValues) -> tuple[str, str, str]:
    """("0.42 free", "of 12.0", role): the figure at the right of a bar, and the role of its colour."""
    left = values.left
    total = tr("of {total}", total=gib_text(values.total, 1)) if values.total is not None else ""
    if values.predicted is not None and not values.unknown:
        return tr("{size} used", size=gib_text(values.used)), total, "text"
    if values.unknown or left is None:
        return tr("unknown"), "", "text2"
    if left < 0:
        return tr("{size} over", size=gib_text(-left)), total, "bad"
    role = "warn" if left < values.margin else "text"
    return tr("{size} free", size=gib_text(left)), total, role


class MemoryBar(QWidget):
    """Weights, KV, compute, draft, projector, overhead, other, free; margin, limit and prediction as lines."""

    def __init__(self, height: int = 20, labels: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values = BarValues("")
        self._height, self._labels = height, labels
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(60)

    def show_values(self, values: BarValues) -> None:
        if values == self._values:
            return
        self._values = values
        self.setAccessibleName(tr("Memory of {device}", device=values.name))
        self.setAccessibleDescription(self.sentence())
        self.setToolTip(self.sentence())
        self.update()

    def values(self) -> BarValues:
        return self._values

    def sentence(self) -> str:
        """The bar in words."""
        v = self._values
        if v.unknown:
            return v.unknown
        parts = [f"{term_word(term)} {gib_text(size)}" for term, size in v.terms]
        if v.other:
            parts.append(f"{term_word('other')} {gib_text(v.other)}")
        words, of, _ = free_words(v)
        return tr("{parts}; {free} {of} GiB.", parts=", ".join(parts) or tr("nothing"), free=words, of=of)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(200), theme().px(self._height) + (7 if self._values.predicted is not None else 0))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        v = self._values
        height = theme().px(self._height)
        frame = QRectF(0, self.height() - height, self.width(), height)
        if v.unknown or v.total is None:
            self._paint_unknown(painter, frame)
            return
        extent = max(v.total, v.used + (v.other or 0))
        scale = frame.width() / extent if extent else 0.0
        painter.fillRect(frame, theme().color("base"))
        self._outline(painter, frame, v.total * scale)
        end = self._paint_terms(painter, frame, scale)
        if v.other:
            fill_other(painter, QRectF(end, frame.top(), min(v.other * scale, frame.right() - end), frame.height()))
        self._paint_lines(painter, frame, scale)

    def _outline(self, painter: QPainter, frame: QRectF, width: float) -> None:
        painter.setPen(QPen(theme().color("edge"), 1))
        painter.drawRect(QRectF(0.5, frame.top() + 0.5, min(width, frame.width()) - 1, frame.height() - 1))

    def _paint_unknown(self, painter: QPainter, frame: QRectF) -> None:
        t = theme()
        pen = QPen(t.color("edge"), 1)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        painter.drawRect(frame.adjusted(0.5, 0.5, -0.5, -0.5))
        if self._labels:
            painter.setFont(t.font("caption"))
            painter.setPen(t.color("text2"))
            room = frame.adjusted(8, 0, -8, 0)
            end = Qt.TextElideMode.ElideRight
            text = painter.fontMetrics().elidedText(self._values.unknown, end, int(room.width()))
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_terms(self, painter: QPainter, frame: QRectF, scale: float) -> float:
        x = 0.0
        for term, size in self._values.terms:
            width = size * scale
            if width < 0.5:
                x += width
                continue
            rect = QRectF(x, frame.top(), max(1.0, width - 1), frame.height())
            fill_data(painter, rect, TERMS[term])
            if self._labels:
                self._label(painter, rect, term, size)
            x += width
        return x

    def _label(self, painter: QPainter, rect: QRectF, term: str, size: int) -> None:
        t = theme()
        painter.setFont(t.font("caption", 500))
        metrics = painter.fontMetrics()
        figure = gib_text(size, 1)
        for text in (f"{term_word(term)} {figure}", figure):
            width = metrics.horizontalAdvance(text)
            if width + t.px(16) > rect.width():
                continue
            plate = QRectF(rect.center().x() - width / 2 - 4, rect.top() + 2, width + 8, rect.height() - 4)
            painter.fillRect(plate, t.data(TERMS[term]))
            painter.setPen(t.on_data(TERMS[term]))
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)
            return

    def _paint_lines(self, painter: QPainter, frame: QRectF, scale: float) -> None:
        t, v = theme(), self._values
        total = v.total or 0
        over = v.left is not None and v.left < 0
        if v.margin and total > v.margin and not over:
            pen = QPen(t.color("text"), 1.4)
            pen.setDashPattern([2, 2])
            painter.setPen(pen)
            x = round((total - v.margin) * scale) + 0.5
            painter.drawLine(QPointF(x, frame.top() - 2), QPointF(x, frame.bottom() + 2))
        if over:
            start = min(total, v.used + (v.other or 0) - 1) * scale
            if start > frame.width() - 4:
                start = frame.width() - 4
            painter.setPen(QPen(t.color("bad"), 2))
            painter.drawRect(QRectF(start, frame.top() + 1, frame.width() - start - 1, frame.height() - 2))
        if v.predicted is not None:
            x = min(frame.width() - 4, v.predicted * scale)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.color("text"))
            top = frame.top() - 6
            painter.drawPolygon(QPolygonF([QPointF(x - 4, top), QPointF(x + 4, top), QPointF(x, top + 5)]))


class Legend(QWidget):
    """The terms of the bars with their patterns."""

    TERMS = ("weights", "kv", "compute", "draft", "projector", "overhead", "other", "free", "margin")

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Legend of the memory bars, in GiB"))

    def sizeHint(self) -> QSize:
        return QSize(theme().px(300), theme().px(16))

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        painter.setFont(t.font("caption"))
        metrics = painter.fontMetrics()
        side, gap, apart = t.px(10), t.px(4), t.px(8)
        words = [term_word(term) for term in self.TERMS]
        needed = sum(metrics.horizontalAdvance(w) + side + gap + apart for w in words)
        unit = metrics.horizontalAdvance("GiB")
        apart += max(0, min(t.px(4), int((self.width() - unit - needed) / len(words))))
        x, top = 0.0, (self.height() - side) / 2
        for term, word in zip(self.TERMS, words, strict=True):
            width = metrics.horizontalAdvance(word) + side + gap + apart
            if x + width - apart > self.width() - unit:
                break
            self._sample(painter, term, QRectF(x, top, side, side))
            painter.setPen(t.color("text2"))
            painter.drawText(QRectF(x + side + gap, 0, width, self.height()), Qt.AlignmentFlag.AlignVCenter, word)
            x += width
        painter.setPen(t.color("text2"))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, "GiB")

    def _sample(self, painter: QPainter, term: str, box: QRectF) -> None:
        t = theme()
        if term in TERMS:
            fill_data(painter, box, TERMS[term])
        elif term == "other":
            fill_other(painter, box)
        elif term == "free":
            painter.setPen(QPen(t.color("edge"), 1))
            painter.setBrush(t.color("base"))
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
        else:
            pen = QPen(t.color("text"), 1.4)
            pen.setDashPattern([2, 2])
            painter.setPen(pen)
            x = round(box.center().x()) + 0.5
            painter.drawLine(QPointF(x, box.top() - 1), QPointF(x, box.bottom() + 1))
