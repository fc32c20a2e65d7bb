"""What the colours of the map mean, with what a layer weighs."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from paddock.desktop.pages.launch.placement.painting import kind_colours
from paddock.desktop.parts.hatch import draw_pattern
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.fit.placement_map import EMBEDDING, PlacementMap
from paddock.units import GIB


def figure(size: int) -> str:
    """GiB with as many digits as say something: 1.58, 0.25, 0.002."""
    value = size / GIB
    return f"{value:.2f}" if value >= 0.01 else f"{value:.3f}" if value >= 0.0005 else "<0.001"


def entries(found: PlacementMap) -> list[tuple[str, str]]:
    """(kind, words): what is on the map, with the size of the largest layer."""
    def largest(kind: str) -> list[int]:
        return sorted({sum(found.cell(r.name, c).of(kind) for r in found.rows) for c in range(found.layers)} - {0})

    out = []
    experts, ffn, attention, kv, other = (largest(k) for k in ("experts", "ffn", "attention", "kv", "other"))
    if experts:
        out.append(("experts", tr("Experts {size} a layer", size=figure(experts[-1]))))
    elif ffn:
        out.append(("ffn", tr("FFN {size} a layer", size=figure(ffn[-1]))))
    if attention:
        out.append(("attention", tr("Attention {size}", size=figure(attention[-1]))))
    if len(kv) == 2:
        out.append(("kv", tr("KV {full} full, {window} window", full=figure(kv[1]), window=figure(kv[0]))))
    elif kv:
        out.append(("kv", tr("KV {size}", size=figure(kv[-1]))))
    if other and other[-1] * 20 > max([*experts, *ffn, 0]):
        out.append(("other", tr("Other {size}", size=figure(other[-1]))))
    ends = [sum(found.cell(r.name, c).weights for r in found.rows) for c in (EMBEDDING, found.output)]
    if any(ends):
        out.append(("embedding", tr("Embedding, output {size}", size=figure(max(ends)))))
    return out


class MapLegend(QWidget):
    """One line, right-aligned; what does not fit is left out from the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: list[tuple[str, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self._restyle)

    def show_map(self, found: PlacementMap) -> None:
        self._entries = entries(found)
        self.setAccessibleName(tr("Legend, GiB: {entries}", entries="; ".join(w for _, w in self._entries)))
        self.updateGeometry()
        self.update()

    @Slot()
    def _restyle(self) -> None:
        self.updateGeometry()

    def _widths(self) -> list[int]:
        self.setFont(theme().font("caption"))
        metrics = self.fontMetrics()
        return [metrics.horizontalAdvance(words) + theme().px(10 + 4 + 12) for _, words in self._entries]

    def sizeHint(self) -> QSize:
        return QSize(sum(self._widths()) + self.fontMetrics().horizontalAdvance("GiB") + 2, theme().px(16))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, theme().px(16))

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme()
        painter = QPainter(self)
        widths, colours = self._widths(), kind_colours()
        painter.setFont(t.font("caption"))
        unit = painter.fontMetrics().horizontalAdvance("GiB")
        shown = list(zip(self._entries, widths, strict=True))
        while shown and sum(w for _, w in shown) + unit > self.width():
            shown.pop()
        x = float(self.width() - unit - sum(w for _, w in shown))
        side = t.px(10)
        for (kind, words), width in shown:
            box = QRectF(x, (self.height() - side) / 2, side, side)
            painter.fillRect(box, colours[kind])
            if kind == "embedding":
                draw_pattern(painter, box, "uprights", t.pattern_ink(), 1.0)
            painter.setPen(t.color("text2"))
            painter.drawText(QRectF(x + side + t.px(4), 0, width, self.height()), Qt.AlignmentFlag.AlignVCenter, words)
            x += width
        if shown:
            painter.setPen(t.color("text2"))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, "GiB")
