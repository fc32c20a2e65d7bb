"""The plots: gaps stay gaps, ranges are calm, windows follow or are free, nothing grows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from paddock.desktop.plots import Frame, PlotStack, Setup, ink
from paddock.desktop.plots.frame import Columns
from paddock.desktop.plots.marks import flag_text, has_flag, place_flags
from paddock.desktop.plots.scale import (
    calm_top,
    clock_text,
    hold_lone,
    power_top,
    runs,
    short_text,
    thin,
    time_ticks,
    value_at,
)
from paddock.desktop.plots.table import FrameTable
from paddock.desktop.theme import theme
from paddock.session import Series
from paddock.session.model import Event, Request

NAN = math.nan
SETUP = Setup(("CUDA0",), 2, 8192.0, {"CUDA0": float(16 << 30)})


def columns(count: int = 600, step: float = 0.5) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    t = np.arange(count) * step
    return t, {
        "generation_per_s": 50 + 5 * np.sin(t), "prompt_per_s": np.where(t % 60 < 5, 600.0, NAN),
        "requests_processing": np.ones(count), "slot.0.context_used": t * 4, "slot.1.context_used": t * 2,
        "CUDA0.used_bytes": np.full(count, 17.0 * (1 << 30)), "CUDA0.process_bytes": np.full(count, 16.0 * (1 << 30)),
        "CUDA0.utilisation_pct": np.full(count, 40.0), "cpu_pct": np.full(count, 90.0),
        "process_rss_bytes": np.full(count, 5.0 * (1 << 30)), "CUDA0.power_w": np.full(count, 182.0),
        "CUDA0.temperature_c": np.full(count, 61.0)}


def frame_of(t: np.ndarray, cols: dict[str, np.ndarray], **more: object) -> Frame:
    return Frame(Columns(t, cols), now=float(t[-1]) if len(t) else 0.0, **more)  # type: ignore[arg-type]


@pytest.fixture
def stack(qtbot) -> PlotStack:
    made = PlotStack()
    qtbot.addWidget(made)
    made.resize(800, 420)
    made.configure(SETUP)
    made.show()
    return made


# -- figures for axes ------------------------------------------------------------


def test_a_range_grows_at_once_and_shrinks_only_when_far_below() -> None:
    assert calm_top(46.0, 0.0, 10.0) == 50.0
    assert calm_top(51.0, 50.0, 10.0) == 80.0
    assert calm_top(46.0, 80.0, 10.0) == 80.0
    assert calm_top(30.0, 80.0, 10.0) == 40.0
    assert calm_top(NAN, 80.0, 10.0) == 80.0
    assert calm_top(NAN, 0.0, 10.0) == 10.0


def test_tokens_get_powers_of_two() -> None:
    assert power_top(5000, 0.0, 512.0) == 8192.0
    assert short_text(32768, 1024.0) == "32k"
    assert short_text(16384, 1024.0) == "16k"


@pytest.mark.parametrize(("value", "text"),
                         [(0, "0"), (0.25, "0.25"), (0.5, "0.5"), (25, "25"), (1500, "1.5k"), (2e6, "2M")])
def test_axis_figures_are_short(value: float, text: str) -> None:
    assert short_text(value) == text


def test_time_is_cut_at_round_moments() -> None:
    assert time_ticks(750.0, 870.0, 5) == [750.0, 780.0, 810.0, 840.0, 870.0]
    assert [clock_text(t) for t in (0, 75, 4000)] == ["00:00", "01:15", "1:06:40"]


def test_thinning_keeps_spikes_and_gaps() -> None:
    t = np.arange(10_000.0)
    y = np.ones(10_000)
    y[4321] = 99.0
    y[6000:6400] = NAN
    x, out = thin(t, y, slice(0, 10_000), 400)
    assert len(out) <= 420
    assert np.nanmax(out) == 99.0
    gap = out[(x > 6050) & (x < 6350)]
    assert len(gap)
    assert np.isnan(gap).all()


def test_bins_do_not_shimmer_when_the_window_scrolls() -> None:
    t = np.arange(10_000.0)
    y = np.random.default_rng(1).normal(0, 1, 10_000)
    _, first = thin(t, y, slice(1000, 9000), 400)
    _, later = thin(t, y, slice(1040, 9040), 400)
    assert set(first[4:-4]) & set(later) >= set(first[4:-4])


def test_a_lone_sample_is_held_so_that_it_can_be_seen() -> None:
    held = hold_lone(np.array([NAN, 600.0, NAN, NAN, 1.0, 2.0, NAN]))
    assert held[2] == 600.0
    assert np.isnan(held[3])
    assert np.isnan(held[6])


def test_runs_and_values() -> None:
    assert runs(np.array([True, False, True, True])) == [(0, 0), (2, 3)]
    t, y = np.array([0.0, 1.0, 10.0]), np.array([1.0, 2.0, 3.0])
    assert value_at(t, y, 1.2) == 2.0
    assert math.isnan(value_at(t, y, 5.0))


# -- the stack ------------------------------------------------------------


def test_nothing_recorded_yet_says_what_each_plot_waits_for(stack: PlotStack) -> None:
    stack.set_frame(Frame())
    stack.grab()
    notes = [plot.note.text() for plot in stack.plots]
    assert all(notes)
    assert "first request" in notes[0]


@pytest.mark.parametrize("name", ["generation_per_s", "CUDA0.used_bytes", "slot.0.context_used", "cpu_pct"])
def test_all_nan_and_leading_nan_are_painted(stack: PlotStack, name: str) -> None:
    t, cols = columns()
    cols[name] = np.full(len(t), NAN)
    stack.set_frame(frame_of(t, cols))
    stack.grab()
    cols[name] = np.where(t < 200, NAN, 20.0)
    stack.set_frame(frame_of(t, cols))
    stack.grab()


def test_a_missed_sample_is_a_gap_and_never_zero(stack: PlotStack) -> None:
    t, cols = columns()
    missed = (t > 250) & (t < 270)
    cols["generation_per_s"] = np.where(missed, NAN, 50.0)
    cols["requests_processing"] = np.where(missed, NAN, 1.0)
    frame = frame_of(t, cols)
    stack.set_frame(frame)
    x, y = stack.speed._generation.shown()
    inside = y[(x > 251) & (x < 269)]
    assert len(inside)
    assert np.isnan(inside).all()
    assert np.nanmin(y) == 50.0
    (gap,) = frame.gaps(180.0, 300.0, 600)
    assert gap == pytest.approx((250.0, 270.0))


def test_short_silences_between_polls_are_no_gap() -> None:
    t = np.arange(20) * 0.2
    answered = np.ones(20)
    answered[5] = NAN
    assert frame_of(t, {"requests_processing": answered}).gaps(0, 4, 100) == []


def test_an_unknown_slot_does_not_hide_a_known_one(stack: PlotStack) -> None:
    t, cols = columns()
    cols["slot.0.context_used"] = np.full(len(t), NAN)
    stack.set_frame(frame_of(t, cols))
    known = stack.context._areas[1]
    assert known.filled
    assert np.nanmax(known.shown()[2]) == pytest.approx(2 * t[-1], rel=0.01)


def test_a_curve_is_really_painted(stack: PlotStack) -> None:
    t, cols = columns()
    stack.set_frame(frame_of(t, cols))
    image = stack.grab().toImage()
    wanted = ink.data(1)
    box = stack.speed.geometry()
    near = 0
    for x in range(60, 500, 3):
        for y in range(box.top(), box.bottom()):
            colour = image.pixelColor(x, y)
            near += abs(colour.red() - wanted.red()) + abs(colour.blue() - wanted.blue()) < 60
    assert near > 20


def test_it_follows_the_newest_and_is_free_after_a_drag(qtbot, stack: PlotStack) -> None:
    t, cols = columns()
    stack.set_frame(frame_of(t, cols))
    assert stack.window_s == (t[-1] - 120.0, t[-1])
    with qtbot.waitSignal(stack.follow_changed) as changed:
        drag(qtbot, stack, 200, 300)
    assert changed.args == [False]
    start, end = stack.window_s
    assert end - start < 60
    stack.set_frame(frame_of(*columns(700)))
    assert stack.window_s == (start, end)
    with qtbot.waitSignal(stack.follow_changed):
        qtbot.mouseDClick(stack.glass, Qt.MouseButton.LeftButton, pos=QPoint(250, 50))
    assert stack.window_s[1] == pytest.approx(349.5)


def drag(qtbot, stack: PlotStack, left: int, right: int) -> None:
    qtbot.mousePress(stack.glass, Qt.MouseButton.LeftButton, pos=QPoint(left, 50))
    qtbot.mouseMove(stack.glass, QPoint((left + right) // 2, 50))
    qtbot.mouseMove(stack.glass, QPoint(right, 50))
    qtbot.mouseRelease(stack.glass, Qt.MouseButton.LeftButton, pos=QPoint(right, 50))


def test_a_young_session_fills_a_short_window(stack: PlotStack) -> None:
    stack.set_frame(frame_of(*columns(20)))
    assert stack.window_s == (0.0, 15.0)
    stack.set_span(60.0)
    assert stack.window_s == (0.0, 15.0)
    stack.set_span(None)
    assert stack.window_s == (0.0, 9.5)


def test_the_cross_hair_reads_all_plots(qtbot, stack: PlotStack) -> None:
    t, cols = columns()
    cols["cpu_pct"] = t / 3
    stack.set_frame(frame_of(t, cols))
    now = {r.name: r.value for r in stack.load.legend.rows}
    stack.glass.setFocus()
    for _ in range(30):
        qtbot.keyClick(stack.glass, Qt.Key.Key_Left)
    then = {r.name: r.value for r in stack.load.legend.rows}
    assert now["CPU"] == "100"
    assert then["CPU"] == "80"
    qtbot.keyClick(stack.glass, Qt.Key.Key_Escape)
    assert {r.name: r.value for r in stack.load.legend.rows} == now


def test_keys_zoom_and_shift(qtbot, stack: PlotStack) -> None:
    stack.set_frame(frame_of(*columns()))
    qtbot.keyClick(stack.glass, Qt.Key.Key_Plus)
    start, end = stack.window_s
    assert end - start == pytest.approx(96.0)
    qtbot.keyClick(stack.glass, Qt.Key.Key_PageUp)
    assert stack.window_s[0] == pytest.approx(start - 48.0)


def test_all_plots_share_their_edges(stack: PlotStack) -> None:
    stack.set_frame(frame_of(*columns()))
    edges = {(p.view.mapTo(stack, QPoint(0, 0)).x(), p.view.width()) for p in stack.plots}
    assert len(edges) == 1
    left, width = edges.pop()
    assert stack.glass.x_of(stack.window_s[0]) == left
    assert stack.glass.x_of(stack.window_s[1]) == pytest.approx(left + width)
    for plot in stack.plots:
        assert plot.view.range_s == stack.window_s


def test_nothing_grows_over_many_ticks(stack: PlotStack) -> None:
    t, cols = columns(4000)
    for count in range(200, 4000, 40):
        stack.set_frame(frame_of(t[:count], {n: y[:count] for n, y in cols.items()}))
    items = sum(len(p.view.items) for p in stack.plots)
    x, _ = stack.speed._generation.shown()
    stack.set_frame(frame_of(t, cols))
    stack.configure(stack.setup)
    stack.set_frame(frame_of(t, cols))
    assert sum(len(p.view.items) for p in stack.plots) == items
    assert len(x) < 2 * stack.width()


def test_hours_are_drawn_with_as_many_points_as_minutes(stack: PlotStack) -> None:
    stack.set_span(None)
    stack.set_frame(frame_of(*columns(50_000)))
    x, _ = stack.speed._generation.shown()
    assert len(x) < 4 * stack.width()


def test_a_hidden_stack_does_not_pull(qtbot, stack: PlotStack) -> None:
    asked: list[int] = []
    stack.set_source(lambda: asked.append(1))  # type: ignore[func-returns-value]
    qtbot.waitUntil(lambda: len(asked) > 1)
    stack.hide()
    assert not stack._timer.isActive()
    stack.show()
    assert stack._timer.isActive()
    stack.set_source(None)
    assert not stack._timer.isActive()


def test_it_draws_a_live_series(stack: PlotStack) -> None:
    series = Series()
    for i in range(500):
        series.append(i * 0.2, {"generation_per_s": 40.0 + i % 3, "requests_processing": 1.0})
    stack.set_frame(Frame(series, now=99.8))
    rows = {r.name: r.value for r in stack.speed.legend.rows}
    assert rows["Generation"] == "41.0"


def test_slots_busy_and_bars(stack: PlotStack) -> None:
    t, cols = columns()
    requests = [Request(1, 1, 0, 200.0, 260.0, 210.0), Request(2, 2, 1, 280.0, None, None),
                Request(3, 3, 0, 10.0, 20.0, 12.0)]
    stack.set_frame(frame_of(t, cols, requests=requests))
    bars = {r.number: (start, first, end) for r, _, start, first, end in stack.lanes.area.bars()}
    assert bars == {1: (200.0, 210.0, 260.0), 2: (280.0, t[-1], t[-1])}
    assert stack.lanes.legend.rows[-1].value == "1 of 2"


def test_event_labels_give_way_and_numbers_stay() -> None:
    flags = place_flags([(100.0, 14.0, 80.0), (150.0, 14.0, 30.0), (155.0, 14.0, 30.0), (400.0, 14.0, 300.0)], 500.0)
    assert flags == [(True, False), (True, False), (False, False), (True, False)]
    assert place_flags([(100.0, 14.0, 80.0)], 500.0) == [(True, True)]


def test_passing_states_and_requests_carry_no_flag() -> None:
    assert not has_flag(Event(0, "state", "starting"))
    assert not has_flag(Event(0, "request", "1"))
    assert has_flag(Event(0, "mark", "note"))
    assert flag_text(Event(0, "state", "crashed")) == "crashed"


def test_events_keep_their_numbers_when_older_ones_leave_the_window(stack: PlotStack) -> None:
    events = [Event(10.0, "mark", "old"), Event(290.0, "mark", "new")]
    stack.set_frame(frame_of(*columns(), events=events))
    assert [(n, e.text) for n, e in stack.strip._events] == [(2, "new")]


def test_the_description_says_the_values(stack: PlotStack) -> None:
    stack.set_frame(frame_of(*columns()))
    assert "CUDA0 17.0" in stack.memory.accessibleDescription()
    assert "Load" in stack.glass.accessibleDescription()


def test_the_theme_can_change_while_it_is_shown(stack: PlotStack) -> None:
    stack.set_frame(frame_of(*columns()))
    theme().use("dark")
    dark = stack.grab().toImage().pixelColor(300, stack.speed.geometry().center().y()).lightness()
    theme().use("light")
    light = stack.grab().toImage().pixelColor(300, stack.speed.geometry().center().y()).lightness()
    assert dark < 100 < light


def test_the_table_twin_has_the_same_values() -> None:
    t, cols = columns()
    table = FrameTable()
    table.show_frame(frame_of(t, cols, events=[Event(240.2, "mark", "note: IDE")]), SETUP, 180.0, 300.0)
    assert table.rowCount() == 120
    lines = table.text().splitlines()
    assert lines[0].split("\t")[:2] == ["Time", "Generation, t/s"]
    at = next(line for line in lines if line.startswith("04:00"))
    assert "note: IDE" in at
    assert "17.00" in at


def test_many_slots_are_one_area_and_thin_lanes(stack: PlotStack) -> None:
    t, cols = columns()
    cols["context_used"] = t * 10
    stack.configure(Setup((), 64, 65536.0, {}))
    requests = [Request(i + 1, i, i, 200.0 + i, None, 210.0 + i) for i in range(64)]
    stack.set_frame(frame_of(t, cols, requests=requests))
    stack.grab()
    assert [r.name for r in stack.context.legend.rows] == ["All slots"]
    assert stack.lanes.height() <= 110
    assert {slot for _, slot, *_ in stack.lanes.area.bars()} == set(range(64))
    assert stack.lanes.legend.rows[-1].value == "64 of 64"


def test_the_peak_of_memory_is_marked_where_it_was(qtbot) -> None:
    t, made = columns()
    made["CUDA0.process_bytes"][:] = NAN
    made["CUDA0.used_bytes"][240] = 21.5 * (1 << 30)
    stack = PlotStack()
    qtbot.addWidget(stack)
    stack.configure(SETUP)
    stack.set_span(None)
    stack.set_frame(Frame(Columns(t, made), (), (), float(t[-1])))
    assert stack.memory._peak.at == (t[240], 21.5)
    assert stack.memory.remark.text() == "peak 21.5 GiB"
    made["CUDA0.process_bytes"][100] = 18.0 * (1 << 30)
    stack.set_frame(Frame(Columns(t, made), (), (), float(t[-1])))
    assert stack.memory._peak.at is not None
    assert stack.memory._peak.at[0] == t[100], "the model's share where it is told"
    stack.set_frame(Frame(Columns(), (), (), 1.0))
    assert stack.memory._peak.at is None
    assert stack.memory.remark.text() == ""
