"""Requests that wait for a slot, over the slot lanes."""

from __future__ import annotations

import math

from paddock.desktop.plots.frame import Frame, Setup
from paddock.desktop.plots.lanes import Lanes
from paddock.session import Series


def frame(waiting: list[float]) -> Frame:
    series = Series()
    for i, count in enumerate(waiting):
        series.append(float(i), {"requests_waiting": count, "requests_processing": 1.0})
    return Frame(series, now=float(len(waiting)))


def test_the_time_in_which_requests_waited_is_marked_and_their_number_said(qtbot) -> None:
    lanes = Lanes()
    qtbot.addWidget(lanes)
    lanes.configure(Setup(slots=2))
    shown = frame([0.0, 0.0, 2.0, 3.0, 0.0, math.nan])
    lanes.draw(shown, 0.0, 6.0)
    assert lanes.area._waiting == [(2.0, 4.0)]
    lanes.resize(500, 60)
    lanes.grab()
    assert [(row.name, row.value) for row in lanes.legend_rows(shown, 3.0)][-1] == ("Waiting", "3")
    assert lanes.sentence(shown, 3.0).endswith(", 3 waiting")


def test_where_nobody_waits_or_it_is_not_told_nothing_is_said(qtbot) -> None:
    lanes = Lanes()
    qtbot.addWidget(lanes)
    for waiting in ([0.0, 0.0, 0.0], [math.nan] * 3):
        shown = frame(waiting)
        lanes.draw(shown, 0.0, 3.0)
        assert lanes.area._waiting == []
        assert all(row.name != "Waiting" for row in lanes.legend_rows(shown, 1.0))
        assert "waiting" not in lanes.sentence(shown, 1.0)
