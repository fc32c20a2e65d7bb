"""Bytes per layer as a picture: one bar a layer, stacked by what the bytes are for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from paddock.desktop.parts.hatch import draw_pattern
from paddock.desktop.plots.scale import calm_top, short_text
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.gguf.model import ModelFile
from paddock.units import MIB, bytes_text

_LEFT, _BOTTOM, _TOP = 36, 18, 6
_BLOCK = re.compile(r"^blk\.(\d+)\.(.+?)(?:\.weight|\.bias)?$")
KINDS = ("experts", "ffn", "attention", "other", "embedding")


@dataclass(frozen=True)
class Bar:
    """One column of the picture: its name and (kind, bytes) from the bottom up."""

    name: str
    parts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return sum(size for _, size in self.parts)


def bars_of(model: ModelFile) -> list[Bar]:
    """Embedding, the layers, output."""
    facts = model.facts
    out = [Bar(tr("Embedding"), (("embedding", facts.input_bytes),))] if facts.input_bytes else []
    for i, layer in enumerate(facts.layer_bytes):
        parts = tuple((kind, layer[kind]) for kind in ("attention", "ffn", "experts", "other") if layer.get(kind))
        out.append(Bar(tr("Layer {number}", number=i), parts))
    if facts.output_bytes:
        out.append(Bar(tr("Output"), (("embedding", facts.output_bytes),)))
    return out


def kind_word(kind: str) -> str:
    return {"experts": tr("Experts"), "ffn": tr("FFN"), "attention": tr("Attention"), "other": tr("Other"),
            "embedding": tr("Embedding, output")}[kind]


def kind_colour(kind: str) -> QColor:
    t = theme()
    return {"experts": t.data(1), "ffn": t.data(1), "attention": t.color("attention"), "other": t.color("edge"),
            "embedding": t.color("embedding")}[kind]


def tensors_words(model: ModelFile, name: str, layer: int | None, most: int = 3) -> str:
    """The largest tensors of a layer: "ffn_down_exps Q6_K 158, ffn_up_exps Q4_K 108, … MiB"."""
    if layer is None:
        return ""
    found = []
    for tensor in model.tensors:
        match = _BLOCK.match(tensor.name)
        if match and int(match[1]) == layer and tensor.nbytes:
            found.append((tensor.nbytes, match[2], tensor.type_name))
    found.sort(reverse=True)
    words = [f"{part} {kind.upper()} {size / MIB:.0f}" if size >= MIB else f"{part} {kind.upper()} {bytes_text(size)}"
             for size, part, kind in found[:most]]
    rest = sum(size for size, _, _ in found[most:])
    if rest:
        words.append(tr("others {size}", size=f"{rest / MIB:.0f}" if rest >= MIB else bytes_text(rest)))
    return ", ".join(words)


class LayerPicture(QWidget):
    """Hover, or Left and Right: `chosen` brings the index of a bar, -1 for none."""

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bars: list[Bar] = []
        self._current = -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(theme().px(150))
        self.setAccessibleName(tr("Bytes per layer"))

    def show_bars(self, bars: list[Bar]) -> None:
        self._bars, self._current = bars, -1
        largest = max(bars, key=lambda b: b.total, default=None)
        self.setAccessibleDescription("" if largest is None else tr(
            "{count} columns; the largest is {name} with {size}. Arrow keys go through them.", count=len(bars),
            name=largest.name, size=bytes_text(largest.total)))
        self.update()

    @property
    def bars(self) -> list[Bar]:
        return self._bars

    @property
    def current(self) -> int:
        return self._current

    def choose(self, index: int) -> None:
        index = index if 0 <= index < len(self._bars) else -1
        if index != self._current:
            self._current = index
            self.chosen.emit(index)
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(380), theme().px(150))

    def _slot(self) -> float:
        return (self.width() - _LEFT) / max(len(self._bars), 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        t = theme()
        painter.setFont(t.font("caption"))
        if not self._bars:
            painter.setPen(t.color("text2"))
            painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), tr("This file has no layers."))
            return
        plot = QRectF(_LEFT, _TOP, self.width() - _LEFT, self.height() - _TOP - _BOTTOM)
        top = calm_top(max(b.total for b in self._bars) / MIB, 0.0, 0.1)
        self._paint_scale(painter, plot, top)
        slot = self._slot()
        gap = 1 if slot >= 4 else 0
        for i, bar in enumerate(self._bars):
            y = plot.bottom()
            for kind, size in bar.parts:
                height = size / MIB / top * plot.height()
                box = QRectF(plot.left() + i * slot, y - height, max(slot - gap, 1), height)
                painter.fillRect(box, kind_colour(kind))
                if kind == "embedding":
                    draw_pattern(painter, box, "uprights", t.pattern_ink(), 1.0)
                y -= height
        self._paint_names(painter, plot, slot)
        if self._current >= 0:
            painter.setPen(QPen(t.color("text"), 1))
            painter.drawRect(QRectF(plot.left() + self._current * slot - 0.5, _TOP - 4, max(slot, 3),
                                    plot.height() + 4))
        if self.hasFocus():
            painter.setPen(QPen(t.color("accent"), 2))
            painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))
        painter.end()

    def _paint_scale(self, painter: QPainter, plot: QRectF, top: float) -> None:
        t = theme()
        for share in (0.0, 0.5, 1.0):
            y = plot.bottom() - share * plot.height()
            painter.setPen(t.color("grid" if share else "edge"))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(t.color("text3"))
            painter.drawText(QRectF(0, y - 8, _LEFT - 6, 16),
                             int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), short_text(top * share))

    def _paint_names(self, painter: QPainter, plot: QRectF, slot: float) -> None:
        """Layer numbers at a quarter's step, and the last."""
        first = next((i for i, b in enumerate(self._bars) if len(b.parts) != 1 or b.parts[0][0] != "embedding"), 0)
        layers = [i for i, b in enumerate(self._bars) if not (len(b.parts) == 1 and b.parts[0][0] == "embedding")]
        if not layers:
            return
        step = max(1, -(-len(layers) // 4))
        marks = [i for i in layers if (i - first) % step == 0 and layers[-1] - i >= step / 2] + [layers[-1]]
        painter.setPen(theme().color("text3"))
        for i in marks:
            x = plot.left() + (i + 0.5) * slot
            box = QRectF(min(max(x - 20, plot.left() - 6), self.width() - 40), plot.bottom() + 2, 40, _BOTTOM - 2)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), str(i - first))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        x = event.position().x() - _LEFT
        self.choose(int(x // self._slot()) if x >= 0 else -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self._bars) - 1
        moves = {Qt.Key.Key_Left: max(self._current - 1, 0), Qt.Key.Key_Right: min(self._current + 1, last),
                 Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}
        target = moves.get(Qt.Key(event.key()))
        if target is None:
            super().keyPressEvent(event)
        else:
            self.choose(target)
