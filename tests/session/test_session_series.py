from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddock.session import Series
from paddock.session.series import FACTOR


def filled(count: int, limit: int = 100_000) -> Series:
    series = Series(limit)
    for i in range(count):
        series.append(i * 0.2, {"a": float(i % 1000), "b": math.nan})
    return series


def test_a_view_is_the_stored_data_and_not_a_copy() -> None:
    series = filled(100)
    t, y = series.view("a")
    assert t.tolist() == pytest.approx([i * 0.2 for i in range(100)])
    assert y.tolist() == [float(i) for i in range(100)]
    assert np.shares_memory(y, series.view("a")[1])


def test_a_window_has_one_neighbour_on_either_side() -> None:
    t, _ = filled(100).view("a", 5.05, 5.95)
    assert t.tolist() == pytest.approx([5.0, 5.2, 5.4, 5.6, 5.8, 6.0])


def test_empty_unknown_and_all_gaps() -> None:
    series = Series()
    assert [len(part) for part in series.view("a")] == [0, 0]
    assert [len(part) for part in series.view("a", points=10)] == [0, 0]
    assert series.span() is None
    assert math.isnan(series.last("a"))
    series = filled(5000)
    assert np.isnan(series.view("b", points=50)[1]).all()
    assert np.isnan(series.view("nobody")[1]).all()
    assert len(series.view("nobody")[0]) == 5000


def test_a_column_that_appears_later_is_a_gap_before() -> None:
    series = filled(10)
    series.append(99.0, {"late": 5.0})
    assert np.isnan(series.view("late")[1][:10]).all()
    assert series.last("late") == 5.0
    assert math.isnan(series.last("a"))


def test_time_that_stands_still_or_goes_back_is_ignored() -> None:
    series = Series()
    for t in (1.0, 1.0, 0.5, 2.0):
        series.append(t, {"a": t})
    assert series.view("a")[0].tolist() == [1.0, 2.0]


def test_spikes_and_dips_survive_decimation() -> None:
    series = Series()
    for i in range(20_000):
        series.append(float(i), {"a": 1000.0 if i == 7777 else -5.0 if i == 12_345 else 1.0})
    t, y = series.view("a", points=100)
    assert len(t) == len(y) <= 500
    assert (y.max(), y.min()) == (1000.0, -5.0)
    assert abs(t[int(y.argmax())] - 7777) <= 1024
    assert (np.diff(t) >= 0).all()


def test_bins_do_not_move_when_the_window_does() -> None:
    series = filled(20_000)
    one, two = series.view("a", 100.0, 2000.0, 100), series.view("a", 100.6, 2000.6, 100)
    assert set(one[0][4:-8]) <= set(two[0]) | set(one[0][:8])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.floats(-1e6, 1e6, width=32), min_size=1, max_size=400), st.integers(8, 40))
def test_decimation_keeps_extremes_and_gaps(values: list[float | None], points: int) -> None:
    series = Series()
    for i, value in enumerate(values):
        series.append(float(i), {"a": math.nan if value is None else value})
    series.view("a", points=points)
    _, y = series.view("a", points=points)
    known = [v for v in values if v is not None]
    assert bool(np.isnan(y).all()) == (not known)
    if known:
        assert np.nanmax(y) == max(known)
        assert np.nanmin(y) == min(known)


def test_whole_columns_at_once() -> None:
    series = Series.of(np.arange(5000.0), {"a": np.arange(5000.0), "b": [math.nan] * 5000})
    assert series.names == ("a", "b")
    assert series.view("a", points=20)[1].max() == 4999.0
    series.append(5000.0, {"a": 7.0})
    assert series.last("a") == 7.0
    assert len(Series.of(np.empty(0), {"a": []}).view("a")[0]) == 0


def test_gaps_can_be_filled_when_the_value_is_known_later() -> None:
    series = Series()
    for i in range(2000):
        series.append(float(i), {"a": math.nan if 100 <= i < 900 else 1.0})
    assert np.nanmax(series.view("a", points=20)[1]) == 1.0
    series.fill("a", 50.0, 500.0, 9.0)
    series.fill("nobody", 0.0, 1.0, 9.0)
    y = series.view("a")[1]
    assert y[99:101].tolist() == [1.0, 9.0]
    assert y[500] == 9.0
    assert math.isnan(y[501])
    assert np.nanmax(series.view("a", points=20)[1]) == 9.0


def test_old_samples_go_and_views_that_are_held_stay_true() -> None:
    series = Series(10_000)
    held = None
    for i in range(60_000):
        series.append(float(i), {"a": float(i)})
        if i == 9_000:
            held = series.view("a")
            series.view("a", points=20)
    assert held is not None
    assert held[0].tolist() == held[1].tolist()
    assert len(series) <= 10_000 + FACTOR**6
    t, y = series.view("a")
    assert t[-1] == 59_999.0
    assert (t == y).all()
    t, y = series.view("a", points=50)
    assert (np.abs(t - y) <= FACTOR**5).all()
    assert y[-1] == 59_999.0


def test_a_day_at_five_hertz_of_forty_columns_stays_well_below_300_mb() -> None:
    """Grown for real to a twentieth, with every column drawn far out; memory per sample does not grow after that."""
    series = Series(21_600)
    names = [f"c{i}" for i in range(40)]
    row = dict.fromkeys(names, 1.0)
    for i in range(40_000):
        series.append(i * 0.2, row)
    for name in names:
        series.view(name, points=500)
    assert len(series) >= 21_600
    assert series.bytes * 20 < 240e6


def test_a_reader_beside_the_writer_sees_whole_columns() -> None:
    series, stop, wrong = Series(8_192), threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            t, y = series.view("a")
            if len(t) != len(y) or not (t == y).all():
                wrong.append(len(t))
            series.view("a", points=16)

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(40_000):
        series.append(float(i), {"a": float(i)})
    stop.set()
    reader.join()
    assert wrong == []
