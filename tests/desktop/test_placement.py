"""The Placement view: it shows where layers live, says what each pattern does, and edits the plan through the desk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from desk_double import WorkspaceDouble
from fitmodels import LLAMA_KEYS, llama_tensors, make_model
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QLineEdit, QWidget

from paddock.desktop.pages.launch import LaunchPage
from paddock.desktop.pages.launch.placement import PlacementView, edits
from paddock.desktop.pages.launch.placement import view as view_module
from paddock.desktop.pages.launch.placement.geometry import LEAST_COLUMN
from paddock.desktop.pages.launch.placement.strip import pinned_flags
from paddock.desktop.state import Desk
from paddock.fit.levers import Levers
from paddock.fit.placement_map import EMBEDDING
from paddock.gguf.model import ModelFile
from paddock.launch import parse_argv
from paddock.launch.model import Plan

LEFT = Qt.MouseButton.LeftButton


def moe_model(layers: int = 8) -> ModelFile:
    tensors = [t for t in llama_tensors(layers, 1024, 2048, 8, 2, 128, 4096) if ".ffn_" not in t[0]]
    for i in range(layers):
        tensors += [(f"blk.{i}.ffn_{part}_exps.weight", (1024, 512, 64), "q8_0") for part in ("up", "down", "gate")]
    return make_model("qwen3moe", {**LLAMA_KEYS, "block_count": layers, "expert_count": 64, "expert_used_count": 2,
                                   "expert_feed_forward_length": 512}, tensors)


class ModelWorkspace(WorkspaceDouble):
    """Reads a model that has tensors."""

    model = moe_model()

    def read_model(self, path: str | Path) -> ModelFile:
        return self.model


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceDouble:
    return ModelWorkspace(tmp_path / "data")


@pytest.fixture
def view(qtbot, planned: Desk) -> Iterator[PlacementView]:
    made = PlacementView(planned)
    qtbot.addWidget(made)
    made.resize(1216, 560)
    made.show()
    assert made.found.rows
    return made


def edit(qtbot, desk: Desk, flags: str) -> None:
    plan = Plan(desk.plan.settings[:1] + parse_argv(["-c", "4096", *flags.split()]).settings)
    if plan != desk.plan:
        with qtbot.waitSignal(desk.previewChanged):
            desk.edit(plan)


def settled(qtbot, desk: Desk) -> None:
    """Until the preview is that of the plan."""
    qtbot.waitUntil(lambda: desk.preview is not None and desk.preview.plan == desk.plan)


def flags(desk: Desk) -> list[tuple[str, str | None]]:
    return [(s.option, s.value) for s in desk.plan if s.option not in ("model", "ctx-size")]


# -- edits of the plan -------------------------------------------------------------------------------------------------


def test_a_range_of_layers_becomes_an_expression_for_just_these_numbers() -> None:
    for low in range(0, 112, 7):
        for high in range(low, 131):
            found = re.compile(f"blk\\.{edits.number_range(low, high)}\\.")
            assert [n for n in range(140) if found.search(f"blk.{n}.x")] == list(range(low, high + 1)), (low, high)
    assert edits.number_range(0, 14) == "([0-9]|1[0-4])"


@pytest.mark.parametrize(("kind", "taken", "left"), [
    ("experts", ["ffn_up_exps.weight", "ffn_gate_up_exps.bias", "ffn_down_chexps.weight"], ["ffn_up_shexp.weight"]),
    ("ffn", ["ffn_up.weight", "ffn_gate_shexp.weight"], ["ffn_up_exps.weight", "ffn_norm.weight"]),
    ("attention", ["attn_q.weight"], ["ffn_up.weight"]),
    ("all", ["attn_q.weight", "ffn_up_exps.weight"], []),
])
def test_the_builder_s_expressions_find_their_kind_and_no_other(kind: str, taken: list[str], left: list[str]) -> None:
    found = re.compile(edits.expression_for(3, 5, kind, 40))
    assert all(found.search(f"blk.4.{name}") for name in taken)
    assert not any(found.search(f"blk.4.{name}") for name in left)
    assert not any(found.search(f"blk.{n}.{taken[0]}") for n in (2, 6, 34, 45))
    assert re.search(edits.expression_for(0, 40, kind, 40), f"blk.17.{taken[0]}")


def test_patterns_are_moved_replaced_and_taken_out_in_llama_cpp_s_order() -> None:
    plan = parse_argv(["-m", "a", "-ot", "x=CPU,y=CPU", "-ncmoe", "3", "-c", "1", "-ot", "z=CPU"])
    assert [i.value for i in edits.items(plan)] == ["x=CPU", "y=CPU", "3", "z=CPU"]
    up = edits.moved(plan, 3, -1)
    assert [(s.option, s.value) for s in up] == [("model", "a"), ("override-tensor", "x=CPU"), ("n-cpu-moe", "3"),
                                                 ("override-tensor", "y=CPU,z=CPU"), ("ctx-size", "1")]
    assert edits.moved(plan, 1, -1) == plan
    assert [i.value for i in edits.items(edits.replaced(plan, 2, "q=CPU"))] == ["x=CPU", "q=CPU", "3", "z=CPU"]
    assert [i.value for i in edits.items(edits.removed(plan, 1))] == ["y=CPU", "3", "z=CPU"]
    assert [o.pattern for o in Levers.of(edits.added(Plan(), "x=CPU")).overrides] == ["x"]
    assert edits.items(parse_argv(["-ngl", "3"])) == []


@pytest.mark.parametrize(("text", "word"), [
    ("exps", "Write an expression"), ("=CPU", "Write an expression"), ("a{1,2}=CPU", "comma"), ("a=CPU,b=CPU", "comma"),
    ("a=CUDA9", "CUDA9"), ("blk.(0=CPU", "never closed (character 5)"), ("[a=CPU", "never closed"),
    ("a)=CPU", "no ( before"),
    ("*a=CPU", "nothing before it"), ("(?i)b=CPU", "look-behind"), ("(?=a)b=CPU", "first “=”"),
])
def test_a_bad_expression_is_explained(text: str, word: str) -> None:
    found = edits.problem_of(text, ("CPU", "CUDA0"))
    assert found is not None
    assert word in str(found)


def test_a_good_expression_is_left_alone() -> None:
    assert edits.problem_of(r"blk\.(?:[0-9]|1[0-4])\.ffn_.*_exps=CPU", ("CPU",)) is None
    assert edits.problem_of("exps=RPC0[127.0.0.1:50052]", ("CPU", "RPC0")) is None
    assert edits.shares_problem("3,1.5/.5") is None
    assert edits.shares_problem("") is None
    assert edits.shares_problem("3,x") is not None


def test_the_flags_that_turn_fit_off_are_named() -> None:
    assert pinned_flags(parse_argv(["-ngl", "auto", "-ts", "1,2"]), 1) == []
    assert pinned_flags(parse_argv(["-ngl", "9", "-ts", "1,2", "-cmoe"]), 2) == ["-ngl", "-ts", "-cmoe"]


# -- the map -----------------------------------------------------------------------------------------------------------


def test_arrow_keys_walk_through_the_cells_and_say_what_is_there(qtbot, view: PlacementView) -> None:
    view.picture.setFocus()
    qtbot.keyClick(view.picture, Qt.Key.Key_Right)
    assert view.picture.current() == (0, 0)
    assert view.figure.full_text().startswith("Layer 0 on CUDA0: 8 tensors, ")
    assert "experts 102 MiB" in view.figure.full_text()
    for _ in range(2):
        qtbot.keyClick(view.picture, Qt.Key.Key_Down)
    assert view.figure.full_text() == "Layer 0 on CPU: nothing"
    qtbot.keyClick(view.picture, Qt.Key.Key_Home)
    assert view.figure.full_text().startswith("Embedding on CPU: 1 tensor, ")
    qtbot.keyClick(view.picture, Qt.Key.Key_End)
    assert "Output on CPU" in view.figure.full_text()
    qtbot.keyClick(view.picture, Qt.Key.Key_Right)
    assert view.picture.current() == (2, view.found.output)


def test_the_pointer_says_the_same_as_the_keys(qtbot, view: PlacementView) -> None:
    place = view.picture.geometry_now()
    spot = place.box(1, 0, 7).center().toPoint()
    QTest.mouseMove(view.picture, spot)
    qtbot.waitUntil(lambda: view.picture.current() == (1, 7))
    assert view.figure.full_text().startswith("Layer 7 on CUDA1")


def test_the_map_has_a_name_a_sentence_and_a_twin_in_figures(qtbot, view: PlacementView) -> None:
    assert view.picture.accessibleName() == "Where each layer lives"
    said = view.picture.accessibleDescription()
    assert "CUDA0: layers 0 to 6; weights " in said
    assert "CUDA1: layer 7; weights " in said
    assert "CPU: no layer; weights " in said
    view.twin.setFocus()
    qtbot.keyClick(view.twin, Qt.Key.Key_Space)
    assert view.table.isVisible()
    assert not view.picture.isVisible()
    rows = [[cell.text for cell in row] for row in view.table.rows.rows()]
    assert rows[0][:3] == ["Embedding", "CPU", "1"]
    assert rows[1][:4] == ["Layer 0", "CUDA0", "8", "102"]
    assert len(rows) == 10
    view.table.copy()
    assert "Layer 0\tCUDA0\t8\t102" in QGuiApplication.clipboard().text()


def test_the_chosen_pattern_is_outlined_where_tensors_land_and_where_they_left(qtbot, view: PlacementView,
                                                                              planned: Desk) -> None:
    edit(qtbot, planned, r"-ts 5,4 -ot blk\.[2-5]\.ffn_.*exps=CPU")
    assert view.picture.overlay() is None
    view.patterns.choose(1)
    overlay = view.picture.overlay()
    assert overlay is not None
    assert overlay.lands == {(2, 0): {2, 3, 4, 5}}
    assert overlay.leaves == {(0, 0): {2, 3, 4}, (1, 0): {5}}
    assert not view.grab().isNull()


def test_a_handle_is_moved_with_the_keys_and_writes_the_split(qtbot, view: PlacementView, planned: Desk) -> None:
    edit(qtbot, planned, "-ts 5,4")
    handle, = view.picture.handles
    assert handle.accessibleName() == "Boundary between CUDA0 and CUDA1 (-ts)"
    assert handle.accessibleDescription() == "CUDA0 5, CUDA1 4"
    handle.setFocus()
    qtbot.keyClick(handle, Qt.Key.Key_Right)
    assert planned.plan.get("tensor-split") == "6,3"
    settled(qtbot, planned)
    assert view.found.shares == (6, 3)
    qtbot.keyClick(handle, Qt.Key.Key_Left)
    assert planned.plan.get("tensor-split") == "5,4"


def test_a_handle_is_dragged_and_the_plan_changes_once(qtbot, view: PlacementView, planned: Desk) -> None:
    edit(qtbot, planned, "-ts 5,4")
    handle, = view.picture.handles
    plans: list[Plan] = []
    planned.planChanged.connect(plans.append)
    width = round(view.picture.geometry_now().column_width)
    middle = handle.rect().center()
    qtbot.mousePress(handle, LEFT, pos=middle)
    for shares in ((4, 5), (3, 6), (2, 7)):
        qtbot.mouseMove(handle, middle - QPoint(width, 0))
        qtbot.waitUntil(lambda shares=shares: view.picture.shares() == shares)
    assert plans == []
    qtbot.mouseRelease(handle, LEFT, pos=middle)
    assert [p.get("tensor-split") for p in plans] == ["2,7"]
    assert planned.plan.get("tensor-split") == "2,7"


def test_many_layers_keep_their_least_width_and_scroll_sideways(qtbot, view: PlacementView, planned: Desk,
                                                                workspace: ModelWorkspace) -> None:
    workspace.model = moe_model(120)
    edit(qtbot, planned, "-ngl 99")
    place = view.picture.geometry_now()
    assert place.column_width == LEAST_COLUMN
    assert place.overflow > 0
    view.picture.setFocus()
    qtbot.keyClick(view.picture, Qt.Key.Key_Right)
    qtbot.keyClick(view.picture, Qt.Key.Key_End)
    moved = view.picture.geometry_now()
    assert moved.x(view.found.output) + moved.column_width <= moved.right + 1
    qtbot.keyClick(view.picture, Qt.Key.Key_Home)
    assert view.picture.geometry_now().x(EMBEDDING) == moved.left


def test_without_a_gpu_there_is_one_row_and_it_is_said(qtbot, view: PlacementView, planned: Desk,
                                                       workspace: ModelWorkspace) -> None:
    workspace.hardware = replace(workspace.hardware, devices=())
    with qtbot.waitSignal(planned.machineChanged):
        planned.find_engines()
    qtbot.waitUntil(lambda: len(view.found.rows) == 1)
    assert "No GPU" in view.strip.note.full_text()
    assert view.picture.handles == []
    assert not view.strip.shares.isVisible()


def test_without_a_model_it_says_what_it_waits_for(qtbot, desk: Desk) -> None:
    made = PlacementView(desk)
    qtbot.addWidget(made)
    made.show()
    assert "once a model" in made.problem.full_text()
    assert made.problem.isVisible()
    assert not made.twin.isEnabled()


# -- strip -------------------------------------------------------------------------------------------------------------


def test_the_strip_sets_layers_split_and_experts(qtbot, view: PlacementView, planned: Desk) -> None:
    strip = view.strip
    assert (strip.layers.text(), strip.modes.key()) == ("auto", "auto")
    strip.layers.setValue(6)
    assert planned.plan.integer("gpu-layers") == 6
    strip.shares.setText("2,1")
    qtbot.keyClick(strip.shares, Qt.Key.Key_Return)
    assert planned.plan.get("tensor-split") == "2,1"
    strip.experts.stepUp()
    assert planned.plan.integer("n-cpu-moe") == 1
    assert strip.note.full_text() == "-ngl, -ts, -ncmoe turn --fit off: what you set is used as it is."
    strip.shares.setText("2,x")
    qtbot.keyClick(strip.shares, Qt.Key.Key_Return)
    assert planned.plan.get("tensor-split") == "2,1"
    assert "one number a device" in strip.note.full_text()
    qtbot.mouseClick(strip.modes.option("experts"), LEFT)
    assert flags(planned) == [("cpu-moe", None)]
    settled(qtbot, planned)
    qtbot.mouseClick(strip.modes.option("hand"), LEFT)
    assert flags(planned) == [("gpu-layers", "9")]
    strip.layers.setValue(strip.layers.minimum())
    assert flags(planned) == []


# -- patterns ----------------------------------------------------------------------------------------------------------


def shown(view: PlacementView) -> list[list[str]]:
    return [[cell.text for cell in row] for row in view.patterns.table.rows.rows()]


def test_each_pattern_says_what_it_does_or_why_it_does_nothing(qtbot, view: PlacementView, planned: Desk) -> None:
    edit(qtbot, planned, "-ts 5,4 -ncmoe 2 -ot shexp=CPU,exps=CPU -cmoe -ot token_embd=CPU,attn=CUDA9")
    assert shown(view) == [
        ["1", "-ncmoe 2", "CPU", "6", "0.2", "CUDA0 to CPU"],
        ["2", "shexp", "CPU", "0", "0.0", "matches nothing: no shared experts there"],
        ["3", "exps", "CPU", "24", "0.6", "CUDA0, CUDA1 to CPU; 1 takes 6 first"],
        ["4", "-cmoe", "CPU", "24", "0.0", "no effect: 1, 3 take all first"],
        ["5", "token_embd", "CPU", "1", "0.0", "no effect: all are on CPU already"],
        ["6", "attn", "CUDA9", "–", "–", "There is no device “CUDA9” in use."]]
    icons = [row[5].icon[0] for row in view.patterns.table.rows.rows()]
    assert icons == ["circle-check", "circle-x", "circle-check", "triangle-alert", "equal", "circle-x"]
    view.patterns.choose(3)
    assert view.tensors.title.full_text() == "Pattern 3 takes 18 tensors"
    assert view.tensors.note.full_text() == "612 MiB moved; each token reads 26 MiB of RAM"
    first = [cell.text for cell in view.tensors.table.rows.rows()[0]]
    assert first == ["blk.2.ffn_up_exps.weight", "Q8_0", "34", "CUDA0 → CPU"]


def test_the_builder_writes_a_pattern_and_a_chosen_one_is_changed(qtbot, view: PlacementView, planned: Desk) -> None:
    builder = view.patterns.builder
    builder.low.setValue(2)
    builder.high.setValue(5)
    assert builder.text() == r"blk\.[2-5]\.ffn_.*exps=CPU"
    assert builder.note.full_text() == "takes 12 tensors, moves 408 MiB"
    qtbot.mouseClick(builder.apply, LEFT)
    assert planned.plan.get("override-tensor") == r"blk\.[2-5]\.ffn_.*exps=CPU"
    settled(qtbot, planned)
    assert view.patterns.number == 1
    builder.kind.setCurrentIndex(builder.kind.findData("attention"))
    builder.target.setCurrentIndex(builder.target.findData("CUDA1"))
    builder.target.activated.emit(builder.target.currentIndex())
    qtbot.keyClick(builder.line, Qt.Key.Key_Return)
    assert planned.plan.get("override-tensor") == r"blk\.[2-5]\.attn_=CUDA1"
    settled(qtbot, planned)
    qtbot.mouseClick(view.patterns.add, LEFT)
    assert view.patterns.number is None
    builder.line.setText("token_embd=CUDA0")
    qtbot.keyClick(builder.line, Qt.Key.Key_Return)
    assert planned.plan.get("override-tensor") == r"blk\.[2-5]\.attn_=CUDA1,token_embd=CUDA0"


def test_a_bad_expression_by_hand_is_told_and_never_reaches_the_plan(qtbot, view: PlacementView, planned: Desk) -> None:
    before, builder = planned.plan, view.patterns.builder
    builder.line.setText("blk.(0=CPU")
    qtbot.keyClick(builder.line, Qt.Key.Key_Return)
    assert planned.plan == before
    assert not builder.apply.isEnabled()
    assert builder.line.property("error")
    assert "never closed" in builder.line.accessibleDescription()


def test_patterns_are_ordered_and_removed_with_the_keys(qtbot, view: PlacementView, planned: Desk) -> None:
    edit(qtbot, planned, "-ot a=CPU,b=CPU -ncmoe 2")
    view.patterns.choose(2)
    table = view.patterns.table
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert flags(planned) == [("override-tensor", "b=CPU,a=CPU"), ("n-cpu-moe", "2")]
    settled(qtbot, planned)
    assert view.patterns.number == 1
    assert not view.patterns.up.isEnabled()
    qtbot.mouseClick(view.patterns.down, LEFT)
    settled(qtbot, planned)
    qtbot.mouseClick(view.patterns.down, LEFT)
    assert flags(planned) == [("override-tensor", "a=CPU"), ("n-cpu-moe", "2"), ("override-tensor", "b=CPU")]
    settled(qtbot, planned)
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert flags(planned) == [("override-tensor", "a=CPU"), ("n-cpu-moe", "2")]
    planned.undo()
    assert len(edits.items(planned.plan)) == 3


def test_editing_a_pattern_leads_to_where_it_is_written(qtbot, view: PlacementView, planned: Desk) -> None:
    edit(qtbot, planned, "-ncmoe 2 -ot a=CPU")
    view.activateWindow()
    view.patterns.choose(2)
    view.patterns.table.setFocus()
    qtbot.keyClick(view.patterns.table, Qt.Key.Key_F2)
    assert view.patterns.builder.line.hasFocus()
    view.patterns.choose(1)
    view.patterns.table.setFocus()
    qtbot.keyClick(view.patterns.table, Qt.Key.Key_F2)
    assert view.strip.experts.hasFocus()


def test_auto_placement_is_offered_only_where_it_exists_and_applies_its_plan(qtbot, planned: Desk, monkeypatch) -> None:
    asked = []

    def auto_place(model, plan, budgets, *, pinned=(), **given):
        asked.append((model, [b.name for b in budgets], sorted(given)))
        return SimpleNamespace(plan=plan.with_("n-cpu-moe", 3), estimate=None, why="Experts of 3 layers go to RAM.")

    monkeypatch.setattr(view_module, "auto_placement", lambda: None)
    without = PlacementView(planned)
    qtbot.addWidget(without)
    without.show()
    assert not without.patterns.automatic.isVisible()
    monkeypatch.setattr(view_module, "auto_placement", lambda: auto_place)
    made = PlacementView(planned)
    qtbot.addWidget(made)
    made.show()
    with qtbot.waitSignal(planned.planChanged):
        qtbot.mouseClick(made.patterns.automatic, LEFT)
    assert flags(planned) == [("n-cpu-moe", "3")]
    settled(qtbot, planned)
    assert made.figure.full_text() == "Experts of 3 layers go to RAM."
    assert asked == [(ModelWorkspace.model, ["CUDA0", "CUDA1"], ["corrections", "draft", "host_free", "host_total",
                                                                "projector", "rules", "spills"])]


def test_what_is_held_auto_placement_leaves_as_it_is(qtbot, view: PlacementView, planned: Desk, monkeypatch) -> None:
    asked = []

    def auto_place(model, plan, budgets, *, pinned=(), **given):
        asked.append(sorted(pinned))
        return SimpleNamespace(plan=plan.with_("n-cpu-moe", 3), estimate=None, why="Because.")

    monkeypatch.setattr(view_module, "auto_placement", lambda: auto_place)
    pins = view.patterns.pins
    assert pins.button.accessibleName() == "What auto placement leaves as it is: nothing"
    for action in pins.menu().actions():
        if action.text().startswith(("Context", "Shares")):
            action.setChecked(True)
    assert pins.button.accessibleName().endswith("Context (-c), Shares of the devices (-ts)")
    with qtbot.waitSignal(planned.planChanged):
        qtbot.mouseClick(view.patterns.automatic, LEFT)
    assert asked == [["ctx-size", "tensor-split"]]
    pins.hold("context", False)
    assert pins.options() == {"tensor-split"}


def test_a_build_without_auto_placement_is_no_error(monkeypatch) -> None:
    empty = ModuleType("paddock.fit.autoplacement")
    monkeypatch.setitem(__import__("sys").modules, "paddock.fit.autoplacement", empty)
    assert view_module.auto_placement() is None


# -- in the page -------------------------------------------------------------------------------------------------------


def test_placement_is_a_tab_of_launch(qtbot, planned: Desk) -> None:
    page = LaunchPage(planned)
    qtbot.addWidget(page)
    page.resize(1216, 560)
    page.show()
    qtbot.mouseClick(page.tabs.option("placement"), LEFT)
    found = page.findChild(PlacementView)
    assert found is not None
    assert found.isVisible()
    assert found.found.rows


def test_in_a_narrow_window_tensors_are_a_tab_and_the_note_goes_under_the_controls(qtbot, view: PlacementView,
                                                                                   planned: Desk) -> None:
    edit(qtbot, planned, "-ngl 5")
    view.resize(805, 430)
    qtbot.waitUntil(view.tabs.isVisible)
    assert not view.tensors.isVisible()
    qtbot.waitUntil(lambda: view.strip.note.y() > view.strip.layers.mapTo(view.strip, QPoint(0, 0)).y())
    qtbot.mouseClick(view.tabs.option("tensors"), LEFT)
    assert view.tensors.isVisible()
    assert not view.patterns.isVisible()


def test_every_control_has_a_name_and_can_be_reached_by_tab(view: PlacementView) -> None:
    inner = {e for kind in (QAbstractSpinBox, QComboBox) for w in view.findChildren(kind)
             for e in w.findChildren(QLineEdit)}
    nameless = [w for w in view.findChildren(QWidget) if w.focusPolicy() & Qt.FocusPolicy.TabFocus and w.isVisible()
                and not w.accessibleName() and w not in inner]
    assert nameless == []
    for widget in (view.picture, *view.picture.handles, view.twin, view.patterns.table, view.patterns.builder.line,
                   view.strip.layers, view.strip.shares):
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus
