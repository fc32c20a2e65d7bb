"""The bar that shares a model between devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from paddock.desktop.pages.launch.options.splitbar import SplitBar, in_use, moved, shares
from paddock.desktop.state import Desk
from paddock.hardware.model import Device, Machine
from paddock.launch import Plan

GIB = 1 << 30
DEVICES = tuple(Device(f"CUDA{n}", "cuda", "card", 24 * GIB, free * GIB) for n, free in enumerate((18, 6, 12)))
MACHINE = Machine("Linux", None, 8, 16, 64 * GIB, 60 * GIB, 1, None, DEVICES)


def test_unset_shares_follow_free_memory() -> None:
    assert shares(Plan(), DEVICES) == ([50.0, pytest.approx(16.667, abs=0.01), pytest.approx(33.333, abs=0.01)], False)
    assert shares(Plan().with_("tensor-split", "3,1"), DEVICES) == ([75.0, 25.0, 0.0], True)
    assert shares(Plan().with_("tensor-split", "3/1"), DEVICES[:2]) == ([75.0, 25.0], True)
    assert shares(Plan().with_("tensor-split", "x"), DEVICES[:2])[1] is False
    assert shares(Plan(), [replace(d, free_bytes=None, total_bytes=None) for d in DEVICES[:2]]) == ([50, 50], False)


def test_devices_stand_in_the_order_of_the_plan() -> None:
    assert [d.name for d in in_use(Plan().with_("device", "CUDA2,CUDA0"), DEVICES)] == ["CUDA2", "CUDA0"]
    assert in_use(Plan().with_("device", "none"), DEVICES) == []


@given(st.lists(st.floats(0.1, 50), min_size=2, max_size=6), st.data())
def test_moving_a_boundary_leaves_the_others_and_the_whole(numbers: list[float], data: st.DataObject) -> None:
    whole = sum(numbers)
    percent = [100 * n / whole for n in numbers]
    boundary = data.draw(st.integers(0, len(percent) - 2))
    found = moved(percent, boundary, data.draw(st.floats(-50, 150)))
    assert sum(found) == 100
    assert all(n >= 0 for n in found)
    kept = [n for n in range(len(percent)) if n not in (boundary, boundary + 1)]
    assert all(abs(found[n] - percent[n]) <= 1 for n in kept)


@pytest.fixture
def bar(qtbot, planned: Desk) -> Iterator[SplitBar]:
    planned.machine = MACHINE
    holder = QWidget()
    qtbot.addWidget(holder)
    made = SplitBar(planned, holder)
    made.resize(642, 84)
    holder.show()
    yield made
    holder.close()


def test_a_boundary_is_dragged_and_the_plan_follows(bar: SplitBar, planned: Desk) -> None:
    assert len(bar.handles) == 2
    room = bar._room()
    bar.handles[0].dragged.emit(room.left() + room.width() * 0.4, False)
    assert planned.plan.find("tensor-split") is None
    bar.handles[0].dragged.emit(room.left() + room.width() * 0.4, True)
    assert planned.plan.get("tensor-split") == "40,27,33"
    assert "CUDA0 40 %" in bar.accessibleName()


def test_arrow_keys_move_it_too(qtbot, bar: SplitBar, planned: Desk) -> None:
    planned.edit(planned.plan.with_("tensor-split", "50,20,30"))
    qtbot.keyClick(bar.handles[1], Qt.Key.Key_Right)
    assert planned.plan.get("tensor-split") == "50,21,29"
    qtbot.keyClick(bar.handles[0], Qt.Key.Key_Left)
    assert planned.plan.get("tensor-split") == "49,22,29"
    assert "CUDA0" in bar.handles[0].accessibleName()


def test_one_device_has_nothing_to_share(bar: SplitBar, planned: Desk) -> None:
    planned.edit(planned.plan.with_("device", "CUDA1"))
    assert bar.handles == []
    assert "not two devices" in bar.accessibleName()
    assert not bar.grab().isNull()
