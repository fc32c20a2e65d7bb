"""One plot: a pyqtgraph view between a left and a right scale of fixed width, so that all plots share their edges."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QGraphicsItem, QHBoxLayout, QLabel, QSizePolicy, QStyleOptionGraphicsItem, QWidget

from paddock.desktop.plots import ink, sizes
from paddock.desktop.plots.legend import Legend
from paddock.desktop.plots.line import Line
from paddock.desktop.plots.scale import short_text


class Scale(QWidget):
    """The figures of one y axis, painted; three of them: 0, the middle, the top."""

    def __init__(self, width: int, right: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self._top = 0.0
        self._right = right
        self._colour = 0
        self._picture: tuple[object, QPixmap] | None = None
        self.kilo = 1000.0
        self.setFixedWidth(width)

    def set_top(self, top: float, colour: int = 0) -> None:
        """`top` 0 hides the figures. `colour`: the data colour whose curve this axis is for, 0 = none."""
        if (top, colour) != (self._top, self._colour):
            self._top, self._colour = top, colour
            self.update()

    @property
    def top(self) -> float:
        return self._top

    def paintEvent(self, event: QPaintEvent) -> None:
        """From a picture: each new frame paints what lies under the cross-hair's glass, and this seldom changes."""
        if not self._top:
            return
        font, ratio = ink.caption(), self.devicePixelRatioF()
        pen = ink.data(self._colour) if self._colour else ink.role("text3")
        key = self._top, self.kilo, pen.rgba(), font.key(), self.size(), ratio
        if self._picture is None or self._picture[0] != key:
            picture = QPixmap(self.size() * ratio)
            picture.setDevicePixelRatio(ratio)
            picture.fill(Qt.GlobalColor.transparent)
            self._paint_figures(picture, font, pen)
            self._picture = key, picture
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture[1])
        painter.end()

    def _paint_figures(self, picture: QPixmap, font: QFont, colour: QColor) -> None:
        painter = QPainter(picture)
        painter.setFont(font)
        painter.setPen(colour)
        height, line = self.height(), painter.fontMetrics().height()
        side = Qt.AlignmentFlag.AlignLeft if self._right else Qt.AlignmentFlag.AlignRight
        for share in (0.0, 0.5, 1.0):
            middle = sizes.pad_top() + (1 - share) * (height - sizes.pad_top() - sizes.PAD_BOTTOM)
            top = min(max(middle - line / 2, 0), height - line)
            box = QRectF(5 if self._right else 0, top, self.width() - (5 if self._right else 6), line)
            painter.drawText(box, int(side | Qt.AlignmentFlag.AlignVCenter), short_text(self._top * share, self.kilo))
        painter.end()


class Backdrop(QGraphicsItem):
    """Grid and gaps behind the curves, in data coordinates."""

    def __init__(self) -> None:
        super().__init__()
        self._top = 1.0
        self._box = QRectF(0, 0, 1, 1)
        self._ticks: list[float] = []
        self._gaps: list[tuple[float, float]] = []
        self.setZValue(-100)

    def set_view(self, start: float, end: float, top: float, ticks: list[float],
                 gaps: list[tuple[float, float]]) -> None:
        box = QRectF(start, -top, max(end - start, 1e-9), 3 * top)
        if box != self._box:
            self.prepareGeometryChange()
            self._box = box
        self._top, self._ticks, self._gaps = top, ticks, gaps
        self.update()

    def boundingRect(self) -> QRectF:
        return self._box

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        box = self._box
        top = self._top
        for start, end in self._gaps:
            painter.fillRect(QRectF(start, box.top(), end - start, box.height()), ink.role("hover"))
        painter.setPen(ink.pen(ink.role("grid")))
        for share in (0.5, 1.0):
            painter.drawLine(QPointF(box.left(), top * share), QPointF(box.right(), top * share))
        for t in self._ticks:
            painter.drawLine(QPointF(t, 0), QPointF(t, top))
        painter.setPen(ink.pen(ink.role("edge")))
        painter.drawLine(QPointF(box.left(), 0), QPointF(box.right(), 0))


class Canvas(QWidget):
    """Scale, view, scale, legend in a row. Curves are made once with `curve` and fed with `set_data`."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.left, self.right = Scale(sizes.left(), False, self), Scale(sizes.right(), True, self)
        self.legend = Legend(self)
        self.view = pg.GraphicsView(self, background=None)
        for part in (self.view, self.view.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.setMouseTracking(False)
        self.view.setMinimumHeight(24)
        self.box = pg.ViewBox(enableMenu=False, enableMouse=False, defaultPadding=0)
        self.view.setCentralItem(self.box)
        self.backdrop = Backdrop()
        self.box.addItem(self.backdrop, ignoreBounds=True)
        self.box.disableAutoRange()
        self.second: pg.ViewBox | None = None
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part, stretch in ((self.left, 0), (self.view, 1), (self.right, 0), (self.legend, 0)):
            layout.addWidget(part, stretch)
        self.title = QLabel(title, self)
        self.title.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.note = QLabel(self)
        self.note.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.note.hide()
        self.remark = QLabel(self)
        self.remark.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.remark.hide()
        self._remark_top = 2
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(title)

    def add(self, item: QGraphicsItem, second: bool = False) -> None:
        box = self._second_box() if second else self.box
        box.addItem(item, ignoreBounds=True)

    def curve(self, second: bool = False) -> Line:
        """A line that keeps gaps as gaps; its pen is set by `restyle` of the plot that owns it."""
        made = Line()
        self.add(made, second)
        return made

    def _second_box(self) -> pg.ViewBox:
        if self.second is None:
            self.second = pg.ViewBox(enableMenu=False, enableMouse=False, defaultPadding=0)
            self.second.disableAutoRange()
            self.view.scene().addItem(self.second)
            self.second.setXLink(self.box)
            self.box.sigResized.connect(self._follow_size)
            self._follow_size()
        return self.second

    def _follow_size(self) -> None:
        if self.second is not None:
            self.second.setGeometry(self.box.sceneBoundingRect())

    def begin(self) -> None:
        """New data follow. The scene asks for its paint at once: by itself it would only after what lies above it (the
        cross-hair's glass) was painted, and everything would be painted twice."""
        self.view.scene().update()

    def set_range(self, start: float, end: float, top: float, second_top: float = 0.0, second_colour: int = 0,
                  ticks: list[float] | None = None, gaps: list[tuple[float, float]] | None = None) -> None:
        """Both ranges at once; y from 0 to `top` with the fixed pads above and below."""
        room = max(self.view.height() - sizes.pad_top() - sizes.PAD_BOTTOM, 1)
        low, high = -sizes.PAD_BOTTOM / room, 1 + sizes.pad_top() / room
        self.box.setRange(xRange=(start, end), yRange=(top * low, top * high), padding=0, disableAutoRange=True)
        self.left.set_top(top)
        if self.second is not None and second_top:
            self.second.setYRange(second_top * low, second_top * high, padding=0)
            self.right.set_top(second_top, second_colour)
        self.backdrop.set_view(start, end, top, ticks or [], gaps or [])

    def set_note(self, text: str) -> None:
        """What this plot waits for; empty hides the note."""
        self.note.setVisible(bool(text))
        if text and text != self.note.text():
            self.note.setText(text)
            self._place_labels()

    def set_remark(self, text: str, below: int = 2) -> None:
        """A few words at the right end of the plot, `below` pixels under its top."""
        if (text, below) != (self.remark.text(), self._remark_top):
            self._remark_top = below
            self.remark.setText(text)
            self.remark.setVisible(bool(text))
            self._place_labels()

    def restyle(self) -> None:
        """Colours and fonts of the theme in force."""
        self.title.setFont(ink.caption(bold=True))
        self.note.setFont(ink.caption())
        base = ink.role("base").name()
        self.title.setStyleSheet(f"background:{base};color:{ink.role('text').name()};padding:0 4px;border:0")
        self.note.setStyleSheet(f"background:{base};color:{ink.role('text2').name()};padding:2px 8px;border:0")
        self.remark.setFont(ink.caption())
        self.remark.setStyleSheet(f"background:transparent;color:{ink.role('text2').name()};border:0")
        self.view.setBackground(ink.role("base"))
        self.left.setFixedWidth(sizes.left())
        self.right.setFixedWidth(sizes.right())
        self.legend.fit()
        self._place_labels()
        for part in (self.left, self.right, self.legend):
            part.update()

    def resizeEvent(self, event: object) -> None:
        self._place_labels()

    def _place_labels(self) -> None:
        self.title.adjustSize()
        self.title.move(sizes.left() + 4, 2)
        self.note.adjustSize()
        width = self.width() - sizes.left() - sizes.right() - self.legend.width()
        self.remark.adjustSize()
        self.remark.move(sizes.left() + width - self.remark.width() - 4, self._remark_top)
        left, top = (width - self.note.width()) // 2, (self.height() - self.note.height()) // 2
        self.note.move(sizes.left() + max(0, left), max(0, top))
