"""Icons by meaning: Phosphor outlines from QtAwesome's font, our own SVG where it has none.

An icon is drawn when it is painted, in the colour of its role at that moment, so that it follows the theme by itself.
"""

from __future__ import annotations

import importlib.util
import json
from functools import cache, lru_cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontDatabase, QIcon, QIconEngine, QImage, QPaintEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from paddock import paths
from paddock.desktop.theme import theme

_PHOSPHOR = {
    "rocket": "rocket", "activity": "activity", "history": "clock-counter-clockwise",
    "scale": "scales", "sliders-horizontal": "sliders-horizontal", "circle-check": "check-circle",
    "triangle-alert": "warning", "circle-x": "x-circle", "circle-help": "question", "circle": "circle",
    "loader": "spinner", "moon": "moon", "circle-dashed": "circle-dashed", "play": "play",
    "square": "square", "rotate-ccw": "arrow-counter-clockwise", "copy": "copy", "save": "floppy-disk",
    "undo-2": "arrow-u-up-left", "plus": "plus", "trash-2": "trash", "pencil": "pencil-simple",
    "search": "magnifying-glass", "text-search": "file-search", "folder": "folder", "folder-plus": "folder-plus",
    "download": "download-simple", "refresh-cw": "arrows-clockwise", "flag": "flag", "file": "file",
    "send": "paper-plane-right", "table-2": "table", "eye": "eye", "ellipsis": "dots-three", "x": "x", "link": "link",
    "unlink": "link-break", "info": "info", "lock": "lock-simple", "wand-sparkles": "magic-wand",
    "lightbulb": "lightbulb", "equal": "equals", "check": "check", "minus": "minus", "terminal": "terminal",
    "arrow-up": "arrow-up", "arrow-down": "arrow-down", "arrow-left": "arrow-left", "arrow-right": "arrow-right",
    "chevron-up": "caret-up", "chevron-down": "caret-down", "chevron-left": "caret-left",
    "chevron-right": "caret-right", "pause": "pause", "cloud": "cloud", "cloud-off": "cloud-slash", "key": "key",
}
_OWN = ("paddock", "boxes", "cable", "clipboard-paste", "circle-dot")


@cache
def _font() -> tuple[str, dict[str, str]]:
    """Family and characters by name. QtAwesome's files are read without importing it: that would load seven fonts."""
    spec = importlib.util.find_spec("qtawesome")
    if spec is None or spec.origin is None:
        return "", {}
    folder = Path(spec.origin).parent / "fonts"
    font = next(folder.glob("phosphor-*.ttf"), None)
    charmap = next(folder.glob("phosphor-charmap-*.json"), None)
    if font is None or charmap is None:
        return "", {}
    number = QFontDatabase.addApplicationFont(str(font))
    families = QFontDatabase.applicationFontFamilies(number)
    codes: dict[str, str] = json.loads(charmap.read_text("utf-8"))
    return (families[0] if families else ""), {name: chr(int(code, 16)) for name, code in codes.items()}


@cache
def _svg(name: str) -> str:
    return paths.resource(f"icons/{name}.svg").read_text("utf-8")


def _render(name: str, colour: str, painter: QPainter, box: QRectF) -> None:
    text = _svg(name).replace("currentColor", colour)
    QSvgRenderer(QByteArray(text.encode())).render(painter, box)


@lru_cache(maxsize=128)
def _drawn(name: str, colour: str, side: int, ratio: float) -> QImage:
    """One of our own icons, `side` device pixels wide: to read the drawing each time costs more than a table's row."""
    picture = QImage(max(side, 1), max(side, 1), QImage.Format.Format_ARGB32_Premultiplied)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    _render(name, colour, painter, QRectF(picture.rect()))
    painter.end()
    picture.setDevicePixelRatio(ratio)
    return picture


def paint_icon(painter: QPainter, name: str, rect: QRect | QRectF, role: str = "text") -> None:
    """Draw the icon in the role's colour into the rectangle, centred and square."""
    side = min(rect.width(), rect.height())
    box = QRectF(rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2, side, side)
    colour = theme().color(role)
    if name in _OWN:
        if painter.paintEngine().type() == QPaintEngine.Type.Raster:
            ratio = painter.device().devicePixelRatioF()
            painter.drawImage(box.topLeft(), _drawn(name, colour.name(), round(side * ratio), ratio))
        else:
            _render(name, colour.name(), painter, box)
        return
    family, characters = _font()
    font = QFont(family)
    font.setPixelSize(max(1, round(side)))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(font)
    painter.setPen(colour)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, characters.get(_PHOSPHOR[name], ""))
    painter.restore()


class Painted(QIconEngine):
    """An icon that is drawn anew each time; what inherits it gives `paint` and `clone`."""

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        pixmap = QPixmap(size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        self.paint(painter, QRect(QPoint(0, 0), size), mode, state)
        painter.end()
        return pixmap


class _Engine(Painted):
    def __init__(self, name: str, role: str, checked: str | None) -> None:
        super().__init__()
        self._name, self._role, self._checked = name, role, checked

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        role = "text3" if mode == QIcon.Mode.Disabled else self._role
        if state == QIcon.State.On and self._checked and mode != QIcon.Mode.Disabled:
            role = self._checked
        side = min(rect.width(), rect.height())
        paint_icon(painter, self._name, QRect(rect.x(), rect.y() + (rect.height() - side) // 2, side, side), role)

    def clone(self) -> QIconEngine:
        return _Engine(self._name, self._role, self._checked)


def icon(name: str, role: str = "text", checked: str | None = None) -> QIcon:
    """The icon of a meaning ("play", "save", …) in a role's colour; `checked` is the role while its button is on."""
    if name not in _PHOSPHOR and name not in _OWN:
        raise KeyError(name)
    return QIcon(_Engine(name, role, checked))


def pixmap(name: str, size: int, role: str = "text", ratio: float = 1.0) -> QPixmap:
    """The icon as a picture of `size` logical pixels; it does not follow the theme."""
    found = QPixmap(round(size * ratio), round(size * ratio))
    found.fill(Qt.GlobalColor.transparent)
    painter = QPainter(found)
    paint_icon(painter, name, QRect(0, 0, found.width(), found.height()), role)
    painter.end()
    found.setDevicePixelRatio(ratio)
    return found


def names() -> tuple[str, ...]:
    """All meanings."""
    return (*_OWN, *_PHOSPHOR)
