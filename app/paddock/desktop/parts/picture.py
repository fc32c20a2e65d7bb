"""What is on the screen as a file: PNG (twice the pixels) or SVG."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QFileDialog, QWidget

from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.text import Text

_SCALE = 2


def save_picture(widget: QWidget, path: Path) -> None:
    """Write the widget as it looks now; the kind follows from the name's end. AppError where it cannot be written."""
    written = _write_svg(widget, path) if path.suffix.lower() == ".svg" else _write_png(widget, path)
    if not written:
        raise AppError(Text("The picture could not be written to {path}.", path=str(path)),
                       hint=Text("Choose another folder."))


def _write_png(widget: QWidget, path: Path) -> bool:
    picture = QPixmap(widget.size() * _SCALE)
    picture.setDevicePixelRatio(_SCALE)
    picture.fill(_ground())
    widget.render(picture, QPoint())
    return picture.save(str(path), "PNG")


def _write_svg(widget: QWidget, path: Path) -> bool:
    from PySide6.QtSvg import QSvgGenerator

    try:
        path.touch()
    except OSError:
        return False
    made = QSvgGenerator()
    made.setFileName(str(path))
    made.setSize(QSize(widget.size()))
    made.setViewBox(QRect(QPoint(), widget.size()))
    made.setTitle("Paddock")
    painter = QPainter()
    if not painter.begin(made):
        return False
    painter.fillRect(widget.rect(), _ground())
    widget.render(painter, QPoint())
    return bool(painter.end())


def _ground() -> QColor:
    return theme().color("base")


def ask_picture(parent: QWidget, widget: QWidget, name: str, failed: Callable[[AppError], object]) -> Path | None:
    """Ask where to, write it; the path, or None where nothing was written."""
    chosen, kind = QFileDialog.getSaveFileName(parent, tr("Save the picture"), f"{name}.png",
                                               tr("Picture (*.png);;Drawing (*.svg)"))
    if not chosen:
        return None
    path = Path(chosen)
    if path.suffix.lower() not in (".png", ".svg"):
        path = path.with_name(path.name + (".svg" if "*.svg" in kind else ".png"))
    try:
        save_picture(widget, path)
    except AppError as error:
        failed(error)
        return None
    return path
