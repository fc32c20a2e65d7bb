"""The Basic form: it shows the plan, edits it in one step each, and says what each choice costs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from desk_double import WorkspaceDouble, engine_at, model_at
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox

from paddock.desktop.pages.launch import LaunchPage
from paddock.desktop.pages.launch.context import ContextSlider, stops
from paddock.desktop.pages.launch.costs import address_words, kv_words
from paddock.desktop.pages.launch.fields_more import placement_mode
from paddock.desktop.parts.signs import SEVERITIES
from paddock.desktop.state import Desk
from paddock.desktop.whatif import WhatIf
from paddock.gguf.model import Kind, ModelFile
from paddock.launch.model import Issue, Plan, Severity
from paddock.server.model import State
from paddock.text import Text
from paddock.work import Preview

MODEL = "/models/Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf"


@dataclass
class EntryDouble:
    path: Path
    model: ModelFile
    kind: Kind = Kind.MODEL


@pytest.fixture
def page(qtbot, planned: Desk) -> LaunchPage:
    made = LaunchPage(planned)
    qtbot.addWidget(made)
    made.resize(1216, 600)
    made.show()
    return made


def test_the_form_shows_the_plan_and_tells_nobody(qtbot, page: LaunchPage, planned: Desk) -> None:
    plan = (planned.plan.with_("ctx-size", 4096).with_("cache-type-k", "q8_0").with_("cache-type-v", "q4_0")
            .with_("parallel", 2).with_("kv-unified").with_("host", "0.0.0.0").with_("port", 9000)
            .with_("gpu-layers", 20).with_("n-cpu-moe", 3))
    with qtbot.waitSignal(planned.previewChanged):
        planned.edit(plan)
    fields = page.form.fields
    assert planned.plan is plan
    assert fields["context"].figure.value() == 4096
    assert [b.currentText() for b in fields["kv"].boxes.values()] == ["q8_0", "q4_0"]
    assert (fields["slots"].count.value(), fields["slots"].share.isChecked()) == (2, True)
    assert (fields["address"].host.currentData(), fields["address"].port.value()) == ("0.0.0.0", 9000)
    assert fields["placement"].modes.key() == "hand"
    assert (fields["placement"].layers.value(), fields["placement"].experts.value()) == (20, 3)


def test_context_by_slider_and_by_figure(page: LaunchPage, planned: Desk) -> None:
    field = page.form.fields["context"]
    field.slider.slider.setValue(field.slider.slider.maximum())
    assert planned.plan.integer("ctx-size") == 262144
    field.figure.setValue(12345)
    assert planned.plan.integer("ctx-size") == 12345


def test_steps_of_the_context_slider_are_logarithmic_and_end_at_the_trained_length(qtbot) -> None:
    assert stops(32768)[:5] == [4096, 5120, 6144, 7168, 8192]
    assert stops(40960)[-1] == 40960
    assert stops(2048) == [2048]
    slider = ContextSlider()
    qtbot.addWidget(slider)
    slider.set_range(40960)
    slider.show_value(40000)
    slider.show_limits(10000, 20000)
    assert not slider.grab().isNull()


def test_placement_is_derived_from_the_flags() -> None:
    assert placement_mode(Plan()) == "auto"
    assert placement_mode(Plan().with_("gpu-layers", "auto")) == "auto"
    assert placement_mode(Plan().with_("cpu-moe")) == "experts"
    assert placement_mode(Plan().with_("override-tensor", "a=CPU")) == "hand"


def test_choosing_a_placement_sets_its_flags_and_clears_the_others(qtbot, page: LaunchPage, planned: Desk) -> None:
    modes = page.form.fields["placement"].modes
    qtbot.mouseClick(modes.option("hand"), Qt.MouseButton.LeftButton)
    assert planned.plan.integer("gpu-layers") == 49
    qtbot.mouseClick(modes.option("experts"), Qt.MouseButton.LeftButton)
    assert planned.plan.is_on("cpu-moe")
    assert planned.plan.find("gpu-layers") is None
    qtbot.mouseClick(modes.option("auto"), Qt.MouseButton.LeftButton)
    assert {s.option for s in planned.plan} == {"model", "ctx-size"}


def test_linked_kv_types_change_together_and_the_default_is_not_written(page: LaunchPage, planned: Desk) -> None:
    field = page.form.fields["kv"]
    box = field.boxes["cache-type-k"]
    box.setCurrentText("q8_0")
    box.activated.emit(box.currentIndex())
    assert planned.plan.get("cache-type-v") == "q8_0"
    field.link.setChecked(False)
    box.setCurrentText("f16")
    box.activated.emit(box.currentIndex())
    assert planned.plan.find("cache-type-k") is None
    assert planned.plan.get("cache-type-v") == "q8_0"
    field.link.setChecked(True)
    assert planned.plan.find("cache-type-v") is None


def test_slots_skip_zero_and_sharing_is_locked_while_auto(page: LaunchPage, planned: Desk) -> None:
    field = page.form.fields["slots"]
    assert not field.share.isEnabled()
    field.count.stepUp()
    assert planned.plan.integer("parallel") == 1
    assert field.share.isEnabled()
    assert not field.share.isChecked()
    field.share.setChecked(True)
    assert planned.plan.is_on("kv-unified")
    field.count.stepDown()
    assert planned.plan.find("parallel") is None


def test_a_draft_brings_its_kind_along_and_takes_it_away_again(page: LaunchPage, planned: Desk) -> None:
    small = model_at("/models/Qwen3-0.6B.gguf", name="Qwen3-0.6B", quant="Q8_0")
    small = ModelFile(**{**small.__dict__, "shards": ()})
    planned.entries = [EntryDouble(Path(MODEL), model_at(MODEL)), EntryDouble(small.path, small)]
    planned.modelsChanged.emit()
    field = page.form.fields["draft"]
    field.sync()
    at = field.box.findData("/models/Qwen3-0.6B.gguf")
    assert at > 0
    field.box.activated.emit(at)
    assert planned.plan.get("spec-draft-model") == "/models/Qwen3-0.6B.gguf"
    assert planned.plan.get("spec-type") == "draft-simple"
    field.box.activated.emit(field.box.findData(""))
    assert planned.plan.find("spec-draft-model") is None
    assert planned.plan.find("spec-type") is None


def test_leaving_the_draft_dialog_changes_nothing(page: LaunchPage, planned: Desk, monkeypatch) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a, **_k: ("", ""))
    field, before = page.form.fields["draft"], planned.plan
    field.box.activated.emit(field.box.count() - 1)
    assert planned.plan is before
    assert field.box.currentIndex() == 0


def test_the_network_asks_for_a_key_which_is_kept_as_a_reference(qtbot, page: LaunchPage, planned: Desk) -> None:
    field = page.form.fields["address"]
    assert not field.key.isVisible()
    field.host.activated.emit(field.host.findData("0.0.0.0"))
    assert field.key.isVisible()
    assert "set a key" in address_words(planned.plan)
    field.key.setText("env:MY_KEY")
    field.key.editingFinished.emit()
    assert planned.plan.get("api-key") == "env:MY_KEY"


def test_a_model_can_be_chosen_from_the_known_ones_and_by_file(page: LaunchPage, planned: Desk, monkeypatch) -> None:
    other = model_at("/models/other.gguf", name="Other", quant="Q6_K")
    planned.entries = [EntryDouble(other.path, other), EntryDouble(Path("/m/mmproj.gguf"), other, Kind.PROJECTOR)]
    planned.entries[1].model = ModelFile(**{**other.__dict__, "kind": Kind.PROJECTOR})
    planned.modelsChanged.emit()
    box = page.form.fields["model"].box
    assert [box.itemText(i) for i in range(box.count())] == ["Qwen3-30B-A3B-Instruct-2507, Q4_K_M", "Other, Q6_K"]
    box.activated.emit(1)
    assert planned.model_path() == "/models/other.gguf"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a, **_k: ("/x/y.gguf", ""))
    page.form.fields["model"]._browse()
    assert planned.model_path() == "/x/y.gguf"


def test_choosing_an_engine_writes_it_into_the_plan(qtbot, page: LaunchPage, planned: Desk) -> None:
    planned.engines = [engine_at(), engine_at("/other/llama-server", name="llama.cpp 10434"),
                       engine_at("/dead", name="dead", error=Text("It does not start."))]
    planned.enginesChanged.emit()
    box = page.form.fields["engine"].box
    assert box.count() == 3
    assert not box.model().flags(box.model().index(2, 0)) & Qt.ItemFlag.ItemIsEnabled
    box.activated.emit(1)
    assert planned.plan.engine == "/other/llama-server"


def test_each_row_says_what_its_choice_costs(page: LaunchPage) -> None:
    said = {name: line.cost.plain() for name, line in page.form.rows.items()}
    assert said["model"] == "17.28 GiB, 48 layers, 128 experts, 8 used"
    assert said["engine"] == "CUDA0, CUDA1. Knows 258 options."
    assert said["context"].startswith("6.00 GiB KV, 96 KiB a token.\nFits up to ")
    assert said["kv"].startswith("q8_0 would save ")
    assert said["slots"] == "Each of 4 requests may use all 65,536."
    assert said["address"] == "Only programs on this computer can connect."


def test_different_kv_types_are_warned_of() -> None:
    plan = Plan().with_("cache-type-k", "q8_0")
    assert "differ" in kv_words(plan, WhatIf(plan, kv_saving=1))


def test_a_changed_row_is_marked_and_its_change_can_be_taken_back(qtbot, page: LaunchPage, planned: Desk, save) -> None:
    save("Chat")
    planned.edit(planned.plan.with_("ctx-size", 1024))
    assert page.form.rows["context"].accessibleDescription()
    assert page.form.changes.isVisible()
    undo = page.form.changes._grid.itemAtPosition(0, 3).widget()
    qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert planned.plan.integer("ctx-size") == 65536
    assert not page.form.changes.isVisible()
    assert not page.form.rows["context"].accessibleDescription()


def test_issues_stand_worst_first_with_sign_sentence_and_fix(qtbot, page: LaunchPage, planned: Desk, workspace) -> None:
    workspace.issues = (
        Issue("hint", Severity.HINT, None, Text("A hint.")),
        Issue("port", Severity.ERROR, "port", Text("A port is 1 to 65535."), Text("Use 8080"), (("port", ("8080",)),)))
    with qtbot.waitSignal(planned.previewChanged):
        planned.set("port", 99999)
    rows = [page.before._issues.itemAt(i).widget() for i in (0, 2)]
    names = [r.findChildren(type(page.before.count)) for r in rows]
    assert names == [[], []]
    texts = [[x.accessibleName() for x in r.findChildren(page.form.rows["model"].label.__class__)] for r in rows]
    assert texts == [["Error: A port is 1 to 65535."], ["Hint: A hint."]]
    assert page.form.fields["address"].port.property("error")
    assert page.form.rows["address"].cost.plain() == "A port is 1 to 65535."
    fix = rows[0].findChild(type(page.before.anyway))
    qtbot.mouseClick(fix, Qt.MouseButton.LeftButton)
    assert planned.plan.integer("port") == 8080
    assert len({icon for icon, _ in SEVERITIES.values()}) == 3


def test_launch_anyway_is_offered_only_with_an_error(qtbot, page: LaunchPage, planned: Desk, workspace) -> None:
    assert not page.before.anyway.isVisible()
    workspace.issues = (Issue("x", Severity.ERROR, None, Text("No.")),)
    with qtbot.waitSignal(planned.previewChanged):
        planned.set("ctx-size", 2048)
    assert page.before.anyway.isVisible()
    with qtbot.waitSignal(planned.pageWanted):
        qtbot.mouseClick(page.before.anyway, Qt.MouseButton.LeftButton)
    assert workspace.launched[-1]["anyway"]
    assert not page.before.anyway.isVisible()


def test_who_holds_memory_is_listed_the_largest_first(page: LaunchPage) -> None:
    grid = page.before._holders
    first = [grid.itemAtPosition(0, c).widget().full_text() for c in range(3)]
    assert first == ["ComfyUI", "CUDA1", "0.92"]
    assert grid.itemAtPosition(4, 0).widget().full_text() == "1 other"


def test_saving_asks_for_a_name_once(qtbot, page: LaunchPage, planned: Desk, workspace, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **k: (asked.append(k["text"]) or "Chat", True))
    with qtbot.waitSignal(planned.profileChanged):
        page.save()
    assert asked == ["Qwen3-30B-A3B-Instruct-2507"]
    assert workspace.profiles.names() == ["Chat"]
    planned.set("ctx-size", 2048)
    with qtbot.waitSignal(planned.profileChanged):
        page.save()
    assert len(asked) == 1
    assert workspace.profiles.load("Chat").plan.integer("ctx-size") == 2048
    assert not page.profiles.store.isEnabled()


def test_a_name_that_is_taken_is_asked_about(qtbot, page: LaunchPage, planned: Desk, save, monkeypatch) -> None:
    save("Chat")
    save("Other")
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: ("Chat", True))
    monkeypatch.setattr(QMessageBox, "question", lambda *_a, **_k: QMessageBox.StandardButton.No)
    page.profiles.save_as()
    assert planned.profile.name == "Other"
    monkeypatch.setattr(QMessageBox, "question", lambda *_a, **_k: QMessageBox.StandardButton.Yes)
    with qtbot.waitSignal(planned.profileChanged):
        page.profiles.save_as()
    assert planned.profile.name == "Chat"


def test_the_profile_s_menu_renames_deletes_and_keeps_serving(qtbot, page: LaunchPage, planned: Desk, save,
                                                             monkeypatch) -> None:
    save("Chat")
    actions = {a.text(): a for a in page.profiles.menu().actions()}
    with qtbot.waitSignal(planned.profileChanged):
        actions["Keep serving when Paddock quits"].trigger()
    assert planned.profile.keep_serving
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: ("Talk", True))
    with qtbot.waitSignal(planned.profileChanged):
        actions["Rename…"].trigger()
    assert planned.profiles.names == ["Talk"]
    monkeypatch.setattr(QMessageBox, "question", lambda *_a, **_k: QMessageBox.StandardButton.Yes)
    with qtbot.waitSignal(planned.profileChanged):
        actions["Delete"].trigger()
    assert planned.profiles.names == []


def test_a_plan_that_left_its_server_behind_offers_to_relaunch_or_launch_beside(qtbot, page: LaunchPage, planned: Desk,
                                                                              workspace: WorkspaceDouble) -> None:
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    first = planned.run
    assert not page.banner.isVisible()
    planned.set("ctx-size", 2048)
    assert page.banner.accessibleName() == "This plan differs from the running server in 1 option."
    acts = {b.text(): b for b in page.banner.findChildren(type(page.before.anyway))}
    qtbot.mouseClick(acts["Relaunch"], Qt.MouseButton.LeftButton)
    assert first.stopped
    assert len(workspace.launched) == 1
    with qtbot.waitSignal(planned.pageWanted):
        first.become(State.STOPPED)
    assert len(workspace.launched) == 2
    assert planned.run is not first
    assert not page.banner.isVisible()


def test_a_relaunch_is_off_when_the_person_stops_instead(qtbot, planned: Desk, workspace: WorkspaceDouble) -> None:
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    planned.relaunch()
    planned.stop()
    with qtbot.waitSignal(planned.runsChanged):
        planned.run.become(State.STOPPED)
    qtbot.wait(20)
    assert len(workspace.launched) == 1


def test_in_a_narrow_window_the_checks_are_a_tab_and_costs_go_under_their_control(qtbot, page: LaunchPage) -> None:
    page.resize(700, 480)
    qtbot.waitUntil(lambda: page.tabs.isVisible())
    assert not page.before.isVisible()
    qtbot.mouseClick(page.tabs.option("before"), Qt.MouseButton.LeftButton)
    assert page.before.isVisible()
    assert not page.form.isVisible()


def test_first_steps_say_what_is_missing_and_lead_on(qtbot, desk: Desk, monkeypatch) -> None:
    page = LaunchPage(desk)
    qtbot.addWidget(page)
    page.show()
    assert page.first.isVisible()
    assert "Choose a model" in page.first._title.full_text()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a, **_k: (MODEL, ""))
    with qtbot.waitSignal(desk.planChanged):
        qtbot.mouseClick(page.first.open_file, Qt.MouseButton.LeftButton)
    assert page.form.isVisible()


def test_without_an_engine_the_first_steps_offer_to_choose_one(qtbot, workspace: WorkspaceDouble, desk: Desk,
                                                              monkeypatch) -> None:
    page = LaunchPage(desk)
    qtbot.addWidget(page)
    page.show()
    workspace.found = []
    with qtbot.waitSignal(desk.enginesChanged):
        desk.find_engines()
    assert "Two things" in page.first._title.full_text()
    assert page.first.choose_engine.isVisible()
    workspace.found = [engine_at()]
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a, **_k: ("/opt/llama/llama-server", ""))
    with qtbot.waitSignal(desk.enginesChanged):
        qtbot.mouseClick(page.first.choose_engine, Qt.MouseButton.LeftButton)
    assert workspace.settings.engine_paths == ["/opt/llama/llama-server"]
    assert not page.first.choose_engine.isVisible()


def test_adding_a_folder_looks_for_models_there(qtbot, workspace: WorkspaceDouble, desk: Desk, monkeypatch) -> None:
    page = LaunchPage(desk)
    qtbot.addWidget(page)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_a, **_k: "/models")
    with qtbot.waitSignal(desk.modelsChanged):
        page.first._add_folder()
    assert workspace.settings.model_folders == ["/models"]
    assert "No GGUF file" in page.first._model.words.full_text()


def test_rpc_hosts_are_asked_on_request_alone(qtbot, page: LaunchPage, planned: Desk,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    fresh: list[bool] = []
    answer = planned.workspace.preview

    def preview(plan: Plan, **options: Any) -> Preview:
        fresh.append(bool(options["fresh"]))
        return answer(plan, **options)

    monkeypatch.setattr(planned.workspace, "preview", preview)
    hosts = page.before.hosts
    assert not hosts.isVisible()
    with qtbot.waitSignal(planned.previewChanged):
        planned.set("rpc", "192.168.1.9:50052")
    assert hosts.isVisible()
    with qtbot.waitSignal(planned.previewChanged):
        hosts.ask.click()
        assert not hosts.ask.isEnabled()
    assert hosts.ask.isEnabled()
    assert fresh == [False, True]


def test_a_folder_of_models_is_served_in_place_of_one_and_a_file_takes_over_again(
        qtbot, page: LaunchPage, planned: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned.edit(planned.plan.with_("mmproj", "/m/p.gguf").with_("ctx-size", 4096))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    field = page.form.fields["model"]
    with qtbot.waitSignal(planned.previewChanged):
        field.many.click()
    plan = planned.plan
    assert (plan.get("models-dir"), plan.get("model"), plan.get("mmproj")) == (str(tmp_path), None, None)
    assert plan.get("ctx-size") == "4096", "what holds for all models stays"
    assert tmp_path.name in field.box.currentText()
    assert field.box.toolTip() == str(tmp_path)
    assert "when it is asked for" in page.form.rows["model"].cost.full_text()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (MODEL, ""))
    field._browse()
    assert (planned.plan.get("model"), planned.plan.get("models-dir")) == (MODEL, None)


def test_the_first_steps_offer_a_folder_of_models(qtbot, desk: Desk, tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    page = LaunchPage(desk)
    qtbot.addWidget(page)
    page.show()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "")
    page.first.serve_folder.click()
    assert not desk.plan.settings
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    page.first.serve_folder.click()
    assert desk.plan == Plan().with_("models-dir", str(tmp_path))
    assert not page.first.isVisible()


def test_each_draft_brings_its_own_type(qtbot, page: LaunchPage, planned: Desk,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    made = model_at("/models/eagle.gguf", name="Eagle", quant="Q8_0")
    eagle = replace(made, shards=(), architecture="eagle3", kind=Kind.DRAFT)
    planned.entries = [EntryDouble(Path(MODEL), model_at(MODEL)), EntryDouble(eagle.path, eagle, Kind.DRAFT)]
    field = page.form.fields["draft"]
    field.sync()
    field.box.activated.emit(field.box.findData("/models/eagle.gguf"))
    assert planned.plan.get("spec-type") == "draft-eagle3"
    # a file that the library does not know is read first, off the GUI thread
    read: list[str] = []

    def read_model(path: str) -> ModelFile:
        read.append(threading.current_thread().name)
        return replace(eagle, architecture="dflash")

    monkeypatch.setattr(planned.workspace, "read_model", read_model)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("/elsewhere/flash.gguf", ""))
    field.box.activated.emit(field.box.count() - 1)
    qtbot.waitUntil(lambda: planned.plan.get("spec-draft-model") == "/elsewhere/flash.gguf")
    assert planned.plan.get("spec-type") == "draft-dflash"
    assert threading.current_thread().name not in read


def test_a_model_with_prediction_layers_can_draft_for_itself(page: LaunchPage, planned: Desk) -> None:
    field = page.form.fields["draft"]
    assert all("MTP" not in field.box.itemText(i) for i in range(field.box.count()))
    assert planned.preview is not None
    model = model_at(MODEL, nextn_layers=1)
    planned.preview = replace(planned.preview, model=model)
    field.sync()
    at = next(i for i in range(field.box.count()) if "MTP" in field.box.itemText(i))
    field.box.activated.emit(at)
    assert planned.plan.get("spec-type") == "draft-mtp"
    assert planned.plan.find("spec-draft-model") is None
    assert "MTP" in field.box.currentText()
    field.box.activated.emit(field.box.findData(""))
    assert planned.plan.find("spec-type") is None
