"""A band with more samples than pixels is filled by columns: the same pixels as the polygon's, holes kept."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem

from paddock.desktop.plots import Frame, PlotStack, Setup, area
from paddock.desktop.plots.area import Area
from paddock.session import Series

WIDTH, HEIGHT = 400, 100


def painted(qapp, t: np.ndarray, low: np.ndarray, high: np.ndarray, ratio: float = 1.0) -> np.ndarray:
    """[HEIGHT, WIDTH] of device pixels: whether anything was painted."""
    item = Area(1, 0.5)
    item.set_data(t, low, high)
    image = QImage(int(WIDTH * ratio), int(HEIGHT * ratio), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor(0, 0, 0, 0))
    painter = QPainter(image)
    painter.setTransform(QTransform(WIDTH / 10.0, 0, 0, -HEIGHT / 10.0, 0, HEIGHT))  # data 0…10 both ways, y upwards
    item.paint(painter, QStyleOptionGraphicsItem())
    painter.end()
    return np.array(image.constBits()).view(np.uint32).reshape(image.height(), image.width()) != 0


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_columns_cover_what_the_polygon_covers(qapp, monkeypatch: pytest.MonkeyPatch, ratio: float) -> None:
    t = np.linspace(0, 10, 3000)
    low, high = 1 + 0.5 * np.sin(t), 6 + 2 * np.sin(3 * t)
    columns = painted(qapp, t, low, high, ratio)
    monkeypatch.setattr(area, "_DENSE", 10**9)
    polygon = painted(qapp, t, low, high, ratio)
    assert columns.sum() > 0.3 * columns.size
    assert (columns != polygon).sum() < 0.02 * columns.size  # the edges, by a pixel


def test_samples_further_apart_than_columns_leave_no_stripes(qapp, monkeypatch: pytest.MonkeyPatch) -> None:
    t = np.linspace(-30, 40, 500)  # 5.6 columns a sample; most lie out of sight
    low, high = 1 + 0.5 * np.sin(t), 6 + 2 * np.sin(3 * t)
    columns = painted(qapp, t, low, high)
    monkeypatch.setattr(area, "_DENSE", 10**9)
    polygon = painted(qapp, t, low, high)
    assert (columns != polygon).sum() < 0.02 * columns.size
    assert columns[60].all()


def test_a_gap_stays_a_hole(qapp) -> None:
    t = np.linspace(0, 10, 3000)
    high = np.where((t > 4) & (t < 6), np.nan, 8.0)
    filled = painted(qapp, t, np.zeros(3000), high)
    assert filled[50, 80]
    assert filled[50, 320]
    assert not filled[:, 165:235].any()


def test_a_band_out_of_sight_paints_nothing(qapp) -> None:
    t = np.linspace(20, 30, 3000)
    assert not painted(qapp, t, np.zeros(3000), np.full(3000, 5.0)).any()


def test_over_hours_a_frame_is_drawn_only_when_the_picture_can_change(qtbot) -> None:
    stack = PlotStack()
    qtbot.addWidget(stack)
    stack.resize(900, 500)
    stack.show()
    stack.configure(Setup(("CUDA0",), 2, 4096.0, {}))
    t = np.arange(3600) * 2.0
    series = Series.of(t, {"generation_per_s": np.full(3600, 40.0)})
    stack.set_span(None)
    stack.set_frame(Frame(series, (), (), 7200.0))
    drawn: list[float] = []
    stack.window_changed.connect(lambda: drawn.append(stack.frame.now))
    for tenths in range(1, 81):
        stack.take(Frame(series, (), (), 7200.0 + tenths / 10))
    assert stack.frame.now == 7208.0
    assert 1 <= len(drawn) <= 2  # five seconds at most are waited for
    stack.set_span(60.0)
    drawn.clear()
    for tenths in range(81, 131):
        stack.take(Frame(series, (), (), 7200.0 + tenths / 10))
    assert 9 <= len(drawn) <= 11  # in five seconds: twice a second, however often frames come
    drawn.clear()
    series = Series.of(t, {"generation_per_s": np.full(3600, 40.0), "cpu_pct": np.full(3600, 90.0)})
    for tenths in range(50):
        stack.take(Frame(series, (), (), 7190.0 + tenths / 10))
    assert 5 <= len(drawn) <= 7  # once a second where the processors are at work
