"""One plot: a view between a left and a right scale of fixed width, so that all plots share their edges."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from paddock.desktop.plots import ink, sizes
from paddock.desktop.plots.legend import Legend
from paddock.desktop.plots.line import Line
from paddock.desktop.plots.scale import short_text
from paddock.desktop.plots.view import Backdrop, View


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


class Canvas(QWidget):
    """Scale, view, scale, legend in a row. Curves are made once by `curve`, fed by `set_data`, shown by `set_range`."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.left, self.right = Scale(sizes.left(), False, self), Scale(sizes.right(), True, self)
        self.legend = Legend(self)
        self.view = View(self)
        self.backdrop = Backdrop()
        self.view.add(self.backdrop)
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

    def curve(self, colour: int, second: bool = False) -> Line:
        """A line in a data colour; `second`: on the right scale."""
        made = Line(colour)
        self.view.add(made, second)
        return made

    def set_range(self, start: float, end: float, top: float, second_top: float = 0.0, second_colour: int = 0,
                  ticks: list[float] | None = None, gaps: list[tuple[float, float]] | None = None) -> None:
        """All ranges at once; y from 0 to `top` with the fixed pads above and below."""
        room = max(self.view.height() - sizes.pad_top() - sizes.PAD_BOTTOM, 1)
        low, high = -sizes.PAD_BOTTOM / room, 1 + sizes.pad_top() / room
        second = second_top or 1.0
        self.left.set_top(top)
        if second_top:
            self.right.set_top(second_top, second_colour)
        self.backdrop.set_view(top, ticks or [], gaps or [])
        self.view.set_range((start, end), (top * low, top * high), (second * low, second * high))

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
        self.view.changed()
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
