"""Where things stand in the map of layers: one place for painting, pointing and the handles."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from paddock.desktop.theme import theme
from paddock.fit.placement_map import EMBEDDING, PlacementMap

LEFT, RIGHT, AXIS, ROW, GAP = 140, 112, 20, 58, 3
LEAST_COLUMN = 10
BANDS = ((2, 28), (31, 10), (44, 9))
"""(top within the row, height) of weights, attention and caches, for a 13 px font."""
BAND_KINDS = (("experts", "ffn"), ("attention", "other"), ("kv",))


class Geometry:
    """Rectangles of a map in a widget of this width, `offset` pixels scrolled to the right."""

    def __init__(self, found: PlacementMap, width: int, offset: int = 0) -> None:
        t = theme()
        self.found, self.offset = found, offset
        self.left, self.right = t.px(LEFT), max(t.px(LEFT) + 40, width - t.px(RIGHT))
        self.axis, self.row_height, self.gap = t.px(AXIS), t.px(ROW), GAP
        self.plot = self.right - self.left
        self.count = max(1, len(found.columns) if found.rows else 1)
        self.column_width = max(float(LEAST_COLUMN), self.plot / self.count)

    @property
    def content(self) -> int:
        """Width that all columns need."""
        return round(self.column_width * self.count)

    @property
    def overflow(self) -> int:
        """Pixels that do not fit: the range of the scroll bar."""
        return max(0, self.content - self.plot)

    @property
    def height(self) -> int:
        return self.axis + len(self.found.rows) * (self.row_height + self.gap)

    def x(self, column: float) -> float:
        """The left edge of a column."""
        return self.left - self.offset + (column - EMBEDDING) * self.column_width

    def row_top(self, row: int) -> float:
        return float(self.axis + row * (self.row_height + self.gap))

    def lane(self, row: int) -> QRectF:
        return QRectF(self.left, self.row_top(row), self.plot, self.row_height)

    def band(self, row: int, band: int) -> tuple[float, float]:
        """(top, height) of a band of a row."""
        top, height = BANDS[band]
        scale = self.row_height / ROW
        return self.row_top(row) + top * scale, height * scale

    def box(self, row: int, band: int, column: int) -> QRectF:
        """The whole place of a cell's band, a pixel narrower where columns are wide enough."""
        top, height = self.band(row, band)
        apart = 2.0 if self.column_width >= 12 else 1.0
        return QRectF(self.x(column) + 1, top, self.column_width - apart, height)

    def at(self, x: float, y: float) -> tuple[int, int] | None:
        """(row index, column) under a point."""
        if not self.left <= x < self.right or y < self.axis:
            return None
        row = int((y - self.axis) // (self.row_height + self.gap))
        column = int((x - self.left + self.offset) // self.column_width) + EMBEDDING
        if row >= len(self.found.rows) or column not in self.found.columns:
            return None
        return row, column

    def layer_at(self, x: float) -> int:
        """The boundary between columns that is nearest to x, as the layer at its right."""
        return round((x - self.left + self.offset) / self.column_width) + EMBEDDING
