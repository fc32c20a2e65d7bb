"""The pane of a plot: one picture for each change, in files too; and the bars of the lanes over a day."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from paddock.desktop.parts.picture import save_picture
from paddock.desktop.plots import Frame, PlotStack, Setup, ink
from paddock.desktop.plots.bars import Bars
from paddock.desktop.plots.frame import Columns
from paddock.desktop.plots.lanes import LaneArea
from paddock.desktop.plots.view import View, Way
from paddock.desktop.theme import theme
from paddock.session.model import Event, Request

DAY_S = 86_400.0


class Counted:
    """An item that counts how often it was painted."""

    def __init__(self) -> None:
        self.times = 0
        self.vector = False

    def curves(self, way: Way) -> list[tuple[np.ndarray, np.ndarray]]:
        return []

    def paint(self, painter: object, way: Way) -> None:
        self.times += 1
        self.vector = way.vector


@pytest.fixture
def stack(qtbot) -> PlotStack:
    made = PlotStack()
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.show()
    made.configure(Setup(("CUDA0",), 2, 4096.0, {}))
    t = np.arange(3000) / 5
    columns = {"generation_per_s": 40 + np.sin(t), "cpu_pct": 50 + 9 * np.cos(t)}
    made.set_frame(Frame(Columns(t, columns), (), (), 600.0))
    return made


def test_what_moves_above_a_view_gets_the_same_picture_again(qtbot, stack: PlotStack) -> None:
    item = Counted()
    stack.speed.view.add(item)
    stack.speed.view.changed()
    stack.grab()
    assert item.times == 1
    for x in range(100, 160, 10):
        qtbot.mouseMove(stack.glass, QPoint(x, 60))
        stack.grab()
    assert item.times == 1
    stack.set_frame(stack.frame)
    stack.grab()
    assert item.times == 2
    stack.resize(800, 500)
    stack.grab()
    assert item.times >= 3


def test_another_theme_is_another_picture(stack: PlotStack) -> None:
    before = stack.grab().toImage().pixelColor(300, 40)
    first = theme().mode
    try:
        theme().use("light" if theme().dark else "dark")
        assert stack.grab().toImage().pixelColor(300, 40) != before
    finally:
        theme().use(first)


def test_a_file_gets_its_own_picture_and_a_drawing_no_pixels(stack: PlotStack, tmp_path: Path) -> None:
    item = Counted()
    stack.speed.view.add(item)
    save_picture(stack, tmp_path / "plots.png")
    assert not item.vector
    save_picture(stack, tmp_path / "plots.svg")
    assert item.vector
    root = ElementTree.parse(tmp_path / "plots.svg").getroot()
    shapes = [e.tag.rpartition("}")[2] for e in root.iter()]
    assert "path" in shapes or "polyline" in shapes
    wide = [e for e in root.iter("{http://www.w3.org/2000/svg}image") if float(e.get("width", "0")) > 200]
    assert not wide  # the scales' figures may be pictures, the curves are not


def test_items_are_added_and_removed(qtbot) -> None:
    view = View(None)  # type: ignore[arg-type]
    qtbot.addWidget(view)
    one, two = Counted(), Counted()
    view.add(one)
    view.add(two, second=True)
    assert view.items == (one, two)
    view.remove(one)
    view.remove(one)
    assert view.items == (two,)


def test_marks_and_ruler_move_with_the_window(stack: PlotStack) -> None:
    frame = Frame(stack.frame.series, (), (Event(550.0, "mark", "here"),), 600.0)
    stack.set_frame(frame)
    shown = stack.grab().toImage()
    stack.set_frame(Frame(frame.series, (), frame.events, 630.0))
    moved = stack.grab().toImage()
    x, y = round(stack.glass.x_of(550.0)), stack.strip.height() + 40
    column = [moved.pixelColor(x, y + n) for n in range(20)]
    assert any(a != b for a, b in zip(column, [shown.pixelColor(x, y + n) for n in range(20)], strict=True))
    assert stack.ruler._places() != []


def day_of(count: int, slots: int = 2) -> tuple[Request, ...]:
    each = DAY_S / count
    return tuple(Request(n + 1, n, n % slots, n * each, n * each + each * 0.9, n * each + each * 0.1,
                         status="failed" if n == count // 2 else "done") for n in range(count))


def coloured(area: LaneArea, x: int, lane: int) -> str:
    image = area.grab().toImage()
    height = area.height() / 2
    colour = image.pixelColor(x, int(lane * height + height / 2))
    roles = {"prompt": ink.data(2), "written": ink.data(1), "failed": ink.role("bad")}
    return next((name for name, wanted in roles.items() if wanted.rgb() == colour.rgb()), "none")


def test_a_thousand_requests_of_a_day_are_in_their_lanes(qtbot) -> None:
    area = LaneArea()
    qtbot.addWidget(area)
    area.resize(900, 52)
    area.set_slots(2)
    area.set_view(day_of(1000), 0.0, DAY_S, DAY_S)
    seen = {coloured(area, x, lane) for x in range(100, 800, 7) for lane in (0, 1)}
    assert "written" in seen
    assert len(area.bars()) == 1000


def test_a_narrow_bar_begins_with_its_prompt_and_a_failed_one_is_red(qtbot) -> None:
    area = LaneArea()
    qtbot.addWidget(area)
    area.resize(900, 52)
    area.set_slots(2)
    plot = 900 - 70
    second = 600.0 / plot  # of a pixel
    area.set_view((Request(1, 1, 0, 100 * second, 106 * second, 103 * second, status="done"),
                   Request(2, 2, 1, 200 * second, 204 * second, 201 * second, status="failed"),
                   Request(3, 3, 1, 300 * second, 300.2 * second, 300.1 * second, status="done")), 0.0, 600.0, 600.0)
    assert [coloured(area, 40 + x, 0) for x in (99, 101, 104, 107)] == ["none", "prompt", "written", "none"]
    assert coloured(area, 241, 1) == "failed"
    assert "written" in {coloured(area, 340, 1), coloured(area, 341, 1)} or coloured(area, 340, 1) == "prompt"


def test_an_open_request_ends_now_and_one_that_is_read_has_no_token() -> None:
    bars = Bars()
    bars.set_requests((Request(1, 1, 0, 5.0), Request(2, 2, 1, 6.0, ttft_s=1.0), Request(3, 3, None, 1.0, 2.0)))
    assert bars.times(9.0).T.tolist() == [[5.0, 9.0, 9.0], [6.0, 7.0, 9.0]]
    assert [r.number for r, *_ in bars.within(0.0, 10.0, 9.0)] == [1, 2]


def test_lanes_of_a_drawing_hold_no_pixels(qtbot, tmp_path: Path) -> None:
    area = LaneArea()
    qtbot.addWidget(area)
    area.resize(900, 52)
    area.set_slots(2)
    area.set_view(day_of(400), 0.0, DAY_S, DAY_S)
    save_picture(area, tmp_path / "lanes.svg")
    root = ElementTree.parse(tmp_path / "lanes.svg").getroot()
    assert not list(root.iter("{http://www.w3.org/2000/svg}image"))
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) > 300


def test_a_click_reaches_the_glass_through_the_views(qtbot, stack: PlotStack) -> None:
    assert stack.speed.view.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
