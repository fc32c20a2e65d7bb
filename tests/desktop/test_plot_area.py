"""Bands and lines with more samples than pixels are painted by columns: the pixels of the path, holes kept."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from paddock.desktop.plots import Frame, PlotStack, Setup
from paddock.desktop.plots.area import Area
from paddock.desktop.plots.columns import Columns, dashed
from paddock.desktop.plots.line import Line
from paddock.desktop.plots.view import Way
from paddock.session import Series

WIDTH, HEIGHT = 400, 100
NAN = float("nan")


def painted(item: Area | Line, ratio: float = 1.0, vector: bool = False) -> np.ndarray:
    """[HEIGHT, WIDTH] of device pixels: how much was painted there, 0…255. Data 0…10 both ways, y upwards."""
    image = QImage(int(WIDTH * ratio), int(HEIGHT * ratio), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor(0, 0, 0, 0))
    way = Way(0.0, WIDTH / 10.0, 10.0, HEIGHT / 10.0, WIDTH, HEIGHT, ratio, vector)
    way.prepare(item.curves(way))
    painter = QPainter(image)
    item.paint(painter, way)
    painter.end()
    return np.array(image.constBits()).view(np.uint32).reshape(image.height(), image.width()) >> 24


def band(t: np.ndarray, low: np.ndarray, high: np.ndarray) -> Area:
    item = Area(1, 0.5)
    item.set_data(t, low, high)
    return item


def line(t: np.ndarray, y: np.ndarray, colour: int = 1) -> Line:
    item = Line(colour)
    item.set_data(t, y)
    return item


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_columns_cover_what_the_polygon_covers(qapp, ratio: float) -> None:
    t = np.linspace(0, 10, 3000)
    item = band(t, 1 + 0.5 * np.sin(t), 6 + 2 * np.sin(3 * t))
    columns, polygon = painted(item, ratio) > 0, painted(item, ratio, vector=True) > 64
    assert columns.sum() > 0.3 * columns.size
    assert (columns != polygon).sum() < 0.02 * columns.size  # the edges, by a pixel


def test_samples_further_apart_than_columns_leave_no_stripes(qapp) -> None:
    t = np.linspace(-30, 40, 500)  # 5.6 columns a sample; most lie out of sight
    item = band(t, 1 + 0.5 * np.sin(t), 6 + 2 * np.sin(3 * t))
    columns, polygon = painted(item) > 0, painted(item, vector=True) > 64
    assert (columns != polygon).sum() < 0.02 * columns.size
    assert columns[60].all()


def test_a_gap_stays_a_hole(qapp) -> None:
    t = np.linspace(0, 10, 3000)
    high = np.where((t > 4) & (t < 6), NAN, 8.0)
    for item in (band(t, np.zeros(3000), high), line(t, high)):
        shown = painted(item) > 0
        assert shown[20, 80]
        assert shown[20, 320]
        assert not shown[:, 165:235].any()
    assert (painted(band(t, np.zeros(3000), high)) > 0)[50, 80]


def test_what_is_out_of_sight_paints_nothing(qapp) -> None:
    t = np.linspace(20, 30, 3000)
    assert not painted(band(t, np.zeros(3000), np.full(3000, 5.0))).any()
    assert not painted(line(t, np.full(3000, 5.0))).any()
    inside = np.linspace(0, 10, 3000)
    for value in (-1e9, -5.0, 15.0, 1e9):
        assert not painted(line(inside, np.full(3000, value))).any()


@pytest.mark.parametrize("ratio", [1.0, 2.0])
@pytest.mark.parametrize("wave", [1.0, 40.0, 400.0])
def test_a_dense_line_lies_where_its_path_lies(qapp, ratio: float, wave: float) -> None:
    t = np.linspace(0, 10, 3000)
    item = line(t, 5 + 3 * np.sin(wave * t))
    shown, path = painted(item, ratio) > 0, painted(item, ratio, vector=True)
    near = np.zeros_like(shown)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            near |= np.roll(path > 0, (down, right), (0, 1))
    assert (shown & ~near).sum() < 0.01 * shown.sum()  # nothing to speak of is painted beside the path
    assert shown.any(axis=0).all()
    assert (shown & (path > 0)).sum() > 0.5 * (path > 128).sum()


def test_a_line_that_jumps_is_not_torn(qapp) -> None:
    t = np.linspace(0, 10, 3000)
    shown = painted(line(t, np.where(t < 5, 1.0, 9.0))) > 0
    assert shown[:, 199:202].any(axis=1)[11:90].all()


def test_one_lone_sample_among_thousands_is_seen(qapp) -> None:
    t = np.linspace(0, 10, 5000)
    y = np.full(5000, 1.0)
    y[2500] = 9.0
    assert (painted(line(t, y)) > 0)[:, 198:203].any(axis=1)[11:90].all()
    alone = np.full(5000, NAN)
    alone[2500] = 5.0
    assert (painted(line(t, alone)) > 0).sum() >= 3


def test_dashes_leave_room_and_begin_anew(qapp) -> None:
    assert dashed(0, 9, (4.0, 2.0), 1.0).tolist() == [True] * 4 + [False] * 2 + [True] * 3
    assert dashed(5, 3, (4.0, 2.0), 1.0).tolist() == [False, True, True]
    assert dashed(0, 6, (2.0, 1.0), 2.0).tolist() == [True] * 4 + [False] * 2


def test_the_last_column_may_hold_many_samples(qapp) -> None:
    x = np.concatenate((np.arange(0, 100, 0.5), np.linspace(100, 100.9, 60)))
    y = np.zeros(len(x), np.float32)
    y[-7], y[-30] = 5.0, -3.0
    lowest, highest = Columns(x, 400).extremes([y])[:, 0]
    assert (lowest[-1], highest[-1]) == (-3.0, 5.0)
    assert not lowest[:-1].any()


def test_curves_of_one_picture_do_not_mix(qapp) -> None:
    t = np.linspace(0, 10, 3000)
    way = Way(0.0, WIDTH / 10.0, 10.0, HEIGHT / 10.0, WIDTH, HEIGHT)
    ys = [np.full(3000, value) for value in (2.0, NAN, 7.0)]
    way.prepare([(t, y) for y in ys])
    rows = [way.pixels(y) for y in ys]
    assert [None if r is None else int(r[1].highest[50]) for r in rows] == [80, 0, 30]
    assert rows[1] is not None
    assert (rows[1][1].top >= rows[1][1].bottom).all()


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
