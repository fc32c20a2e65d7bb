"""The view "All options": every option of the engine, found, edited, reset, and never silent about why not."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import fakedesk
import pytest
from desk_double import WorkspaceDouble, engine_at
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QPushButton, QWidget

from paddock.desktop.pages.launch.options import OptionsView
from paddock.desktop.pages.launch.options.cores import CoresPicture, mask_cpus, range_cpus, uses
from paddock.desktop.pages.launch.options.entries import ENVIRONMENT, NEW, UNKNOWN
from paddock.desktop.pages.launch.options.extras import (
    AddVariable,
    PairingDrafts,
    UsualPrefixes,
    WaitingOptions,
)
from paddock.desktop.pages.launch.options.optionrow import PLACED, OptionRow
from paddock.desktop.state import Desk
from paddock.desktop.theme import theme
from paddock.engine import EngineOption, parse_help
from paddock.launch import parse
from paddock.launch.catalogue import CATALOGUE, Group
from paddock.launch.containers import around
from paddock.launch.model import Issue, Plan, Setting, Severity
from paddock.text import Text

RECORDED = Path(__file__).parent.parent / "data" / "engine"
WARP = EngineOption(("--warp-drive",), ("--no-warp-drive",), None, 0, (), "enabled", None, "common",
                    "goes faster than anything known (default: enabled)", False)
FACTOR = EngineOption(("--warp-factor",), (), "N", 1, (), "9", "LLAMA_ARG_WARP", "common", "how fast (default: 9)",
                      False)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkspaceDouble:
    for name in list(os.environ):
        if name.startswith(("LLAMA_", "GGML_", "CUDA_", "HF_", "OMP_")):
            monkeypatch.delenv(name)
    text = (RECORDED / "llama-11434-serve-help.txt").read_text(encoding="utf-8")
    options, _ = parse_help(text)
    return WorkspaceDouble(tmp_path / "data", engines=[engine_at(options=(*options, WARP, FACTOR), help_text=text)])


@pytest.fixture
def view(qtbot, planned: Desk) -> OptionsView:
    planned.saved = planned.plan
    made = OptionsView(planned)
    qtbot.addWidget(made)
    made.resize(1216, 600)
    made.show()
    qtbot.waitExposed(made)
    return made


def row_of(view: OptionsView, key: str) -> OptionRow:
    found = view.list.row(key)
    assert found is not None, key
    return found


def shown(view: OptionsView) -> set[str]:
    return set(view.list.listed())


def changes(view: OptionsView, group: str) -> int:
    return next(r.changes for r in view.groups.rows() if r.key == group)


def refuse(workspace: WorkspaceDouble, qtbot, desk: Desk, *issues: Issue) -> None:
    workspace.issues = issues
    with qtbot.waitSignal(desk.previewChanged):
        desk.refresh_preview()


# -- what is listed ----------------------------------------------------------------------------------------------


def test_every_option_of_the_engine_has_a_row_in_its_group(view: OptionsView) -> None:
    view._reveal()
    assert {o.id for o in CATALOGUE if o.group is not Group.PROGRAM} <= shown(view)
    names = [r.name for r in view.groups.rows()]
    assert names[:3] == ["All groups", "New in this engine", "Model"]
    assert names[-2:] == ["Environment", "Prefix"]


def test_only_rows_near_the_visible_part_are_made_at_first(qtbot, view: OptionsView) -> None:
    assert 5 < len(view.list._made) < 60
    view._go_to("logging")
    assert view.list.row("log-file") is not None
    assert view.list.seen() == "logging"


def test_an_option_that_the_catalogue_lacks_is_built_from_the_help(view: OptionsView, planned: Desk) -> None:
    view._go_to(NEW)
    switch, number = row_of(view, "--warp-drive"), row_of(view, "--warp-factor")
    assert (switch.entry.label, switch.editor.box.isChecked()) == ("Warp drive", True)
    assert number._note.default == "default 9"
    switch.editor.box.click()
    assert planned.plan.find("--no-warp-drive") is not None
    assert switch.state.changed
    switch.editor.box.click()
    assert [s.option for s in planned.plan.settings if "warp" in s.option] == []
    number.editor.boxes[0].lineEdit().setText("7")
    number.editor.commit()
    assert planned.plan.get("--warp-factor") == "7"
    view.list.choose("--warp-factor")
    assert "how fast (default: 9)" in view.help.words()
    assert "LLAMA_ARG_WARP" in view.help.words()


def test_search_looks_through_names_flags_and_help(view: OptionsView) -> None:
    view.search.setText("cache type")
    assert {"cache-type-k", "cache-type-v"} <= shown(view)
    view.search.setText("--cache-ram")
    assert shown(view) == {"cache-ram"}
    view.search.setText("-ngl")
    assert shown(view) == {"gpu-layers", "spec-draft-ngl"}
    view.search.setText("prevents network")
    assert shown(view) == {"offline"}
    assert row_of(view, "offline")._note.text == "… mode: forces use of cache, prevents network access"
    assert view.count.text().startswith("1 of ")
    hits = {r.key: r.hits for r in view.groups.rows()}
    assert (hits["model"], hits["kv"], hits[""]) == (1, 0, 1)


def test_a_search_marks_its_hits(view: OptionsView) -> None:
    view.search.setText("cache")
    picture = row_of(view, "cache-type-k").grab().toImage()
    tint = theme().color("mark").rgb()
    assert any(picture.pixel(x, y) == tint for x in range(picture.width()) for y in range(picture.height()))


def test_a_search_without_hits_says_what_to_do(view: OptionsView) -> None:
    view.search.setText("qqqq")
    assert view.empty.isVisible()
    view.empty.buttons[0].click()
    assert view.search.text() == ""
    assert len(shown(view)) > 200


def test_filters_set_changed_and_locked(view: OptionsView, planned: Desk) -> None:
    planned.edit(planned.plan.with_("cache-type-k", "q8_0"))
    view.filter.option("changed").click()
    assert shown(view) == {"cache-type-k"}
    assert view.filter.option("changed").text() == "Changed 1"
    view.filter.option("set").click()
    assert shown(view) == {"cache-type-k", "model", "ctx-size"}
    view.filter.option("locked").click()
    assert "swa-full" in shown(view)
    assert "ctx-size" not in shown(view)


def test_a_group_counts_what_changed_and_goes_back(view: OptionsView, planned: Desk) -> None:
    planned.edit(planned.plan.with_("cache-type-k", "q8_0").with_("cache-type-v", "q8_0").with_("threads", 3))
    assert (changes(view, "kv"), changes(view, "cpu"), changes(view, "model")) == (2, 1, 0)
    heading = view.list.heading("kv")
    assert heading is not None
    assert "2 changed" in heading.accessibleName()
    heading.undo.click()
    assert planned.plan.find("cache-type-k") is None
    assert planned.plan.integer("threads") == 3
    assert changes(view, "kv") == 0


def test_a_group_whose_settings_are_saved_can_be_cleared(view: OptionsView, planned: Desk) -> None:
    heading = view.list.heading("context")
    assert heading is not None
    assert not heading.clear.isHidden()
    heading.clear.click()
    assert planned.plan.find("ctx-size") is None


def test_a_group_folds(view: OptionsView) -> None:
    heading = view.list.heading("model")
    assert heading is not None
    heading.click()
    assert "model-url" not in shown(view)
    assert "folded" in heading.accessibleName()
    heading.click()
    assert "model-url" in shown(view)


def test_speculative_options_appear_by_type(view: OptionsView, planned: Desk) -> None:
    assert "spec-ngram-mod-n-match" not in shown(view)
    waiting = view.list.extra("waiting+")
    assert isinstance(waiting, WaitingOptions)
    before = waiting.words.full_text()
    planned.edit(planned.plan.with_("spec-type", "ngram-mod"))
    assert "spec-ngram-mod-n-match" in shown(view)
    assert waiting.words.full_text() != before
    waiting.button.click()
    assert "lookup-cache-static" in shown(view)


# -- editing -----------------------------------------------------------------------------------------------------


def test_a_choice_is_set_taken_back_and_its_default_is_left_out(view: OptionsView, planned: Desk) -> None:
    made = row_of(view, "cache-type-k")
    box = made.editor.box
    box.setCurrentIndex(box.findData("q8_0"))
    box.activated.emit(box.currentIndex())
    assert planned.plan.get("cache-type-k") == "q8_0"
    assert row_of(view, "cache-type-k").state.changed
    assert made.undo is not None
    made.undo.click()
    assert planned.plan.find("cache-type-k") is None
    planned.edit(planned.plan.with_("cache-type-k", "q4_0"))
    row_of(view, "cache-type-k")
    assert box.currentText() == "q4_0"
    box.setCurrentIndex(box.findData("f16"))
    box.activated.emit(box.currentIndex())
    assert planned.plan.find("cache-type-k") is None


def test_a_change_made_elsewhere_shows_at_once(view: OptionsView, planned: Desk) -> None:
    view.list.scroll_to("model")
    alias = row_of(view, "alias")
    assert alias.isVisible()
    planned.use_line(parse("-m /models/a.gguf -c 4096 -a qwen -lv 5 --no-kv-offload"))
    assert row_of(view, "ctx-size").editor.boxes[0].text() == "4096"
    assert alias.editor.line.text() == "qwen"
    assert row_of(view, "kv-offload").editor.box.isChecked() is False


def test_a_saved_value_can_be_taken_out_and_taken_back(view: OptionsView, planned: Desk) -> None:
    made = row_of(view, "ctx-size")
    assert made.undo is None
    assert made.clear is not None
    made.clear.click()
    assert planned.plan.find("ctx-size") is None
    made = row_of(view, "ctx-size")
    assert made.undo is not None
    made.undo.click()
    assert planned.plan.integer("ctx-size") == 65536


def test_a_number_is_taken_word_for_word_and_steps_stay_in_range(qtbot, view: OptionsView, planned: Desk) -> None:
    made = row_of(view, "poll")
    box = made.editor.boxes[0]
    box.setFocus()
    qtbot.keyClicks(box.lineEdit(), "100")
    qtbot.keyClick(box.lineEdit(), Qt.Key.Key_Return)
    assert planned.plan.get("poll") == "100"
    box.stepBy(1)
    assert planned.plan.get("poll") == "100"
    box.stepBy(-1)
    assert planned.plan.get("poll") == "99"
    box.lineEdit().setText("4k")
    made.editor.commit()
    assert planned.plan.get("poll") == "4k"
    box.lineEdit().clear()
    made.editor.commit()
    assert planned.plan.find("poll") is None


def test_a_switch_that_the_engine_decides_has_three_choices(view: OptionsView, planned: Desk) -> None:
    planned.edit(planned.plan.with_("parallel", 2))
    box = row_of(view, "kv-unified").editor.box
    assert box.currentText() == "engine decides"
    for index, on in ((1, True), (2, False)):
        box.activated.emit(index)
        found = planned.plan.find("kv-unified")
        assert found is not None
        assert found.on is on
    box.activated.emit(0)
    assert planned.plan.find("kv-unified") is None


def test_a_repeated_option_has_a_line_for_each_time(qtbot, view: OptionsView, planned: Desk) -> None:
    view.list.choose("override-tensor")
    made = row_of(view, "override-tensor")
    height = made.height()
    made.editor.add.click()
    assert len(made.editor.fields) == 1
    made.editor.fields[0].setText("a=CPU")
    made.editor.fields[0].editingFinished.emit()
    made.editor.add.click()
    made.editor.fields[1].setText("b=CUDA1")
    made.editor.fields[1].editingFinished.emit()
    assert [s.value for s in planned.plan.all("override-tensor")] == ["a=CPU", "b=CUDA1"]
    assert made.height() > height
    assert made.editor.fields[1].accessibleName() == f"{made.entry.label}, 2"
    made.editor.removers[0].click()
    assert [s.value for s in planned.plan.all("override-tensor")] == ["b=CUDA1"]


def test_a_list_with_known_items_ticks_them(view: OptionsView, planned: Desk) -> None:
    made = row_of(view, "spec-type")
    made.editor._fill()
    action = next(a for a in made.editor.menu.actions() if a.text() == "ngram-mod")
    action.setChecked(True)
    assert planned.plan.get("spec-type") == "ngram-mod"
    action.setChecked(False)
    assert planned.plan.find("spec-type") is None


def test_a_path_is_looked_for(view: OptionsView, planned: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a: ("/m/p.gguf", ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_a: "/slots")
    row_of(view, "mmproj").editor.browse.click()
    row_of(view, "slot-save-path").editor.browse.click()
    assert (planned.plan.get("mmproj"), planned.plan.get("slot-save-path")) == ("/m/p.gguf", "/slots")
    row_of(view, "lora").editor.browse.click()
    row_of(view, "lora").editor.browse.click()
    assert [s.value for s in planned.plan.all("lora")] == ["/m/p.gguf", "/m/p.gguf"]


def test_a_pasted_path_loses_its_quotes(view: OptionsView, planned: Desk) -> None:
    made = row_of(view, "mmproj").editor
    made.line.setText(' "D:\\a b\\p.gguf" ')
    made.commit()
    assert planned.plan.get("mmproj") == "D:\\a b\\p.gguf"
    planned.edit(planned.plan.with_("lora", "/m/x.gguf"))
    lora = row_of(view, "lora").editor
    lora.fields[0].setText("'/m/a b.gguf'")
    lora._commit()
    assert [s.value for s in planned.plan.all("lora")] == ["/m/a b.gguf"]


def test_a_range_needs_both_ends(view: OptionsView, planned: Desk) -> None:
    planned.edit(planned.plan.with_("control-vector", "/m/v.gguf"))
    made = row_of(view, "control-vector-layer-range")
    made.editor.boxes[0].lineEdit().setText("1")
    made.editor.commit()
    assert planned.plan.find("control-vector-layer-range") is None
    made.editor.boxes[1].lineEdit().setText("9")
    made.editor.commit()
    assert planned.plan.find("control-vector-layer-range") == Setting("control-vector-layer-range", ("1", "9"))


def test_a_key_is_never_shown(view: OptionsView, planned: Desk) -> None:
    planned.edit(planned.plan.with_("api-key", "very-secret"))
    made = row_of(view, "api-key")
    assert made.editor.line.echoMode() is QLineEdit.EchoMode.PasswordEchoOnEdit
    view.list.choose("api-key")
    assert "very-secret" not in view.help.words()
    assert "very-secret" not in made.editor.line.accessibleDescription()
    planned.edit(planned.plan.with_("api-key", "env:KEY"))
    assert made.editor.line.echoMode() is QLineEdit.EchoMode.Normal


# -- locked, refused, not known ----------------------------------------------------------------------------------


def test_locked_rows_say_why_and_are_reached_by_tab(qtbot, view: OptionsView, planned: Desk) -> None:
    made = row_of(view, "swa-full")
    assert made._note.text == "this model has no sliding-window layers"
    assert made._note.icon == "lock"
    assert not made.editor.box.isEnabled()
    assert made.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert "no sliding-window layers" in made.accessibleDescription()
    view.list.choose("swa-full")
    assert "This model has no sliding-window layers." in view.help.words()
    assert row_of(view, "numa")._note.text == "this machine has one bank of memory"


def test_numa_is_free_where_there_are_nodes(qtbot, view: OptionsView, planned: Desk) -> None:
    assert planned.machine is not None
    planned.machine = replace(planned.machine, numa_nodes=2)
    planned.machineChanged.emit()
    assert row_of(view, "numa").editor.box.isEnabled()


def test_a_value_that_needs_flash_attention_cannot_be_chosen_without(view: OptionsView, planned: Desk) -> None:
    made = row_of(view, "cache-type-v")
    model = made.editor.box.model()
    at = made.editor.box.findData("q8_0")
    assert model.item(at).isEnabled()
    planned.edit(planned.plan.with_("flash-attn", "off"))
    row_of(view, "cache-type-v")
    assert not model.item(at).isEnabled()
    assert "needs flash attention" in model.item(at).toolTip()
    assert model.item(made.editor.box.findData("bf16")).isEnabled()


def test_what_the_checks_found_stands_on_the_row_with_its_fix(qtbot, view: OptionsView, planned: Desk,
                                                              workspace: WorkspaceDouble) -> None:
    planned.edit(planned.plan.with_("port", 99999))
    refuse(workspace, qtbot, planned, Issue("out-of-range", Severity.ERROR, "port", Text("A port is 1 to 65535."),
                                            Text("Use 8080."), (("port", ("8080",)),)))
    made = row_of(view, "port")
    assert (made._note.text, made._note.role, made._note.icon) == ("A port is 1 to 65535.", "bad", "circle-x")
    assert made.editor.boxes[0].property("error") is True
    assert "A port is 1 to 65535." in made.editor.boxes[0].accessibleDescription()
    view.list.choose("port")
    button = next(b for b in view.help.findChildren(QPushButton) if b.accessibleName() == "Use 8080.")
    button.click()
    assert planned.plan.get("port") == "8080"


def test_a_flag_that_this_engine_has_not_is_kept_word_for_word(view: OptionsView, planned: Desk) -> None:
    planned.edit(replace(planned.plan, settings=(*planned.plan.settings, Setting("--zzz", ("7", "a b"))),
                         extra=("> log",)))
    made = row_of(view, "--zzz")
    assert made.entry.group == UNKNOWN
    assert made.editor.line.text() == "--zzz 7 'a b'"
    assert (made._note.text, made._note.icon) == ("not in this engine, kept", "circle-help")
    assert not view.help._bottom.isHidden()
    assert "1 flag of this plan is not in this engine: --zzz." in view.help.foreign.full_text()
    assert row_of(view, "stray-words").editor.line.text() == "'> log'"
    assert made.undo is not None
    made.undo.click()
    assert planned.plan.find("--zzz") is None


def test_a_known_option_of_another_build_moves_to_what_is_not_in_this_engine(view: OptionsView, planned: Desk) -> None:
    planned.edit(planned.plan.with_("mlock"))
    made = row_of(view, "mlock")
    assert made.entry.group == UNKNOWN
    assert made.editor.line.text() == "--mlock"
    view._go_to(UNKNOWN)
    assert view.list.current == "mlock"


def test_an_option_that_the_engine_lacks_is_locked(qtbot, planned: Desk, view: OptionsView,
                                                   workspace: WorkspaceDouble) -> None:
    text = (RECORDED / "llama-server-10434-help.txt").read_text(encoding="utf-8")
    workspace.found = [engine_at("/opt/old/llama-server", options=parse_help(text)[0])]
    with qtbot.waitSignal(planned.enginesChanged):
        planned.find_engines(refresh=True)
    with qtbot.waitSignal(planned.previewChanged):
        planned.refresh_preview()
    assert row_of(view, "log-jsonl")._note.text == "this engine does not have it"
    assert "--warp-drive" not in shown(view)


# -- environment, prefix, threads --------------------------------------------------------------------------------


def test_variables_are_set_and_taken_out(view: OptionsView, planned: Desk) -> None:
    view._go_to(ENVIRONMENT)
    made = row_of(view, "env:GGML_CUDA_P2P")
    made.editor.box.setCurrentText("1")
    made.editor.box.lineEdit().editingFinished.emit()
    assert planned.plan.variable("GGML_CUDA_P2P") == "1"
    assert (made._note.icon, made._note.role) == ("triangle-alert", "warn")
    view.list.choose("env:GGML_CUDA_P2P")
    assert "Any value turns it on" in view.help.words()
    assert made.undo is not None
    made.undo.click()
    assert planned.plan.environment == ()


def test_variables_of_backends_without_devices_say_so(view: OptionsView) -> None:
    assert row_of(view, "env:HSA_OVERRIDE_GFX_VERSION")._note.text == "this engine lists no device of ROCm"
    assert not row_of(view, "env:HSA_OVERRIDE_GFX_VERSION").editor.box.isEnabled()
    assert row_of(view, "env:CUDA_VISIBLE_DEVICES").editor.line.isEnabled()


def test_inherited_variables_are_shown_keys_are_not(qtbot, view: OptionsView, planned: Desk,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_CACHE", "/big/cache")
    monkeypatch.setenv("LLAMA_ARG_THREADS", "3")
    monkeypatch.setenv("HF_TOKEN", "hf_very_secret")
    planned.edit(planned.plan.with_("poll", 3))
    view._made_for = None
    view.refresh()
    assert row_of(view, "env:LLAMA_CACHE")._note.default == "inherited /big/cache"
    assert row_of(view, "env:LLAMA_ARG_THREADS")._note.default == "inherited 3, taken out at launch"
    assert row_of(view, "env:HF_TOKEN")._note.default == "inherited •••"
    assert row_of(view, "env:LLAMA_ARG_THREADS").entry.label == "Threads, by a variable"
    variables = [key for key in view.list.listed() if key.startswith("env:")]
    assert set(variables[:3]) == {"env:LLAMA_CACHE", "env:LLAMA_ARG_THREADS", "env:HF_TOKEN"}
    view.list.choose("env:LLAMA_ARG_THREADS")
    assert "Paddock takes it out at launch" in view.help.words()


def test_another_variable_is_added(qtbot, view: OptionsView, planned: Desk) -> None:
    view._go_to(ENVIRONMENT)
    extra = view.list.extra("add+")
    assert isinstance(extra, AddVariable)
    qtbot.keyClicks(extra.name, "1BAD")
    assert not extra.button.isEnabled()
    extra.name.clear()
    qtbot.keyClicks(extra.name, "MY_SWITCH")
    qtbot.keyClicks(extra.value, "a b")
    extra.button.click()
    assert planned.plan.environment == (("MY_SWITCH", "a b"),)
    assert "env:MY_SWITCH" in shown(view)


def test_the_prefix_is_words_not_a_shell_line(qtbot, view: OptionsView, planned: Desk) -> None:
    made = row_of(view, "prefix")
    made.editor.line.setText("wrap 'my dir/run.sh' --x")
    made.editor.commit()
    assert planned.plan.prefix == ("wrap", "my dir/run.sh", "--x")
    made.editor.line.setText("wrap 'open")
    made.editor.commit()
    assert planned.plan.prefix == ("wrap", "my dir/run.sh", "--x")
    assert "never closed" in row_of(view, "prefix")._note.text
    extra = UsualPrefixes(planned, view, lambda name: None if name == "numactl" else name)
    qtbot.addWidget(extra)
    assert not extra.buttons[0].isEnabled()
    extra.buttons[2].click()
    assert planned.plan.prefix[:3] == ("nice", "-n", "10")


def test_a_container_is_put_before_the_engine_with_the_folder_of_the_model(view: OptionsView, planned: Desk) -> None:
    extra = UsualPrefixes(planned, view, lambda name: name)
    extra.buttons[-1].click()
    prefix = planned.plan.prefix
    assert prefix[:2] == ("docker", "run")
    assert prefix[-1].startswith("ghcr.io/")
    folder = Path(planned.model_path() or "").parent
    assert f"{folder}:{folder}:ro" in prefix
    assert around(prefix) is not None
    view.list.choose("prefix")
    assert "brings its own engine" in view.help.words()


def test_variables_that_this_engine_does_not_read_come_last(view: OptionsView) -> None:
    mine = [e.key for e in view._entries if e.group == ENVIRONMENT]
    locked = [bool(view.states[key].lock) for key in mine]
    assert locked == sorted(locked)
    assert not all(locked)


def test_models_that_pair_are_offered_as_drafts(qtbot, view: OptionsView, planned: Desk) -> None:
    target = fakedesk.entries()
    big = next(e for e in target if e.model is not None and e.model.facts.vocabulary and e.model.size_bytes > 1 << 33)
    planned.entries = target
    assert planned.preview is not None
    planned.preview = replace(planned.preview, model=big.model)
    extra = PairingDrafts(planned, view)
    qtbot.addWidget(extra)
    assert 1 <= len(extra.buttons) <= PairingDrafts.MOST
    extra.buttons[0].click()
    taken = planned.plan.get("spec-draft-model")
    assert taken is not None
    assert taken != str(big.model.path)
    assert planned.plan.get("spec-type") == "draft-simple"
    planned.entries = []
    extra.refresh()
    assert extra.buttons == []
    assert "ngram" in extra.words.full_text()


def test_a_models_own_prediction_layers_are_offered_as_drafts(qtbot, view: OptionsView, planned: Desk) -> None:
    assert planned.preview is not None
    assert planned.preview.model is not None
    facts = replace(planned.preview.model.facts, nextn_layers=1)
    planned.preview = replace(planned.preview, model=replace(planned.preview.model, facts=facts))
    extra = PairingDrafts(planned, view)
    qtbot.addWidget(extra)
    (own,) = extra.buttons
    assert "layers of its own" in extra.words.full_text()
    own.click()
    assert planned.plan.get("spec-type") == "draft-mtp"


def test_help_says_when_one_would_change_an_option(view: OptionsView) -> None:
    view.list.choose("cache-type-k")
    assert "q8_0 for both is the usual choice" in " ".join(view.help.words().replace("\u200b", "").split())


def test_cores_show_what_the_plan_uses(view: OptionsView, planned: Desk) -> None:
    assert planned.machine is not None
    assert [u.threads for u in uses(Plan(), planned.machine)] == [16, 16]
    assert [u.threads for u in uses(parse("-t 4 -tb 32"), planned.machine)] == [4, 32]
    assert uses(parse("-t 4 -Cr 2-5"), planned.machine)[0].cpus == {2, 3, 4, 5}
    assert mask_cpus("0xF0") == {4, 5, 6, 7}
    assert mask_cpus("no") is None
    assert (range_cpus("-3", 8), range_cpus("6-", 8), range_cpus("x", 8)) == ({0, 1, 2, 3}, {6, 7}, None)
    view._go_to("cpu")
    picture = view.list.extra("cores")
    assert isinstance(picture, CoresPicture)
    assert "Generation uses 16 threads, prompts 16." in picture.accessibleName()
    before = picture.grab().toImage()
    planned.edit(planned.plan.with_("threads", 24))
    assert "More threads than cores" in picture.accessibleName()
    assert picture.grab().toImage() != before
    planned.edit(planned.plan.with_("threads", 4).with_("cpu-range", "30-40"))
    assert "There is no CPU 40." in picture.accessibleName()


# -- keyboard, names, room ---------------------------------------------------------------------------------------


def test_tab_goes_down_the_rows_in_order(qtbot, view: OptionsView) -> None:
    view.activateWindow()
    row_of(view, "offline").first_stop().setFocus()
    visited = []
    for _ in range(40):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        if view.list.current not in visited[-1:]:
            visited.append(view.list.current)
    order = view.list.listed()
    assert len(visited) > 8
    assert [order.index(key) for key in visited] == sorted(order.index(key) for key in visited)
    assert any(view.states[key].lock for key in visited)


def test_search_by_key_and_rows_by_arrows(qtbot, view: OptionsView) -> None:
    view.activateWindow()
    qtbot.keyClick(view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.focusWidget() is view.search
    qtbot.keyClicks(view.search, "cache-type")
    qtbot.keyClick(view.search, Qt.Key.Key_Down)
    first = view.list.current
    assert first in shown(view)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert view.list.listed().index(view.list.current) == view.list.listed().index(first) + 1


def test_everything_that_tab_visits_has_a_name(view: OptionsView) -> None:
    view._reveal()
    nameless = []
    for key in view.list.listed():
        for stop in row_of(view, key).stops():
            if not stop.accessibleName():
                nameless.append((key, type(stop).__name__))
    assert nameless == []
    for child in view.findChildren(QWidget):
        visited = child.focusPolicy() & Qt.FocusPolicy.TabFocus and child.window() is view.window()
        if visited and not child.accessibleName():
            owner = child.parentWidget()
            assert owner is not None
            assert owner.accessibleName(), child


def test_the_help_pane_quotes_the_engine(view: OptionsView) -> None:
    view.list.choose("cache-ram")
    words = view.help.words()
    assert "LLAMA_ARG_CACHE_RAM" in words
    assert "8192" in words
    assert "default: 8192" in view.help.quote.full_text()


def test_narrow_windows_get_a_box_for_the_groups_and_help_on_demand(view: OptionsView) -> None:
    view.resize(805, 430)
    assert not view.left.isVisible()
    assert not view.help.isVisible()
    assert view.group_box.isVisible()
    view.help_button.click()
    assert view.help.isVisible()
    assert not view.list.isVisible()
    view.help_button.click()
    assert view.list.isVisible()
    at = view.group_box.findData("sampling")
    view.group_box.activated.emit(at)
    assert view.list.seen() == "sampling"
    view.resize(1216, 600)
    assert view.left.isVisible()
    assert view.help.width() < 400


def test_what_is_read_stays_where_it_is_while_rows_above_grow(qtbot, view: OptionsView, planned: Desk,
                                                             workspace: WorkspaceDouble) -> None:
    view._go_to("sampling")
    heading = view.list.heading("sampling")
    assert heading is not None
    before = heading.mapTo(view, heading.rect().topLeft()).y()
    long = Text("This is a long sentence that needs several lines of the narrow column at the right of the row.")
    refuse(workspace, qtbot, planned, *(Issue("x", Severity.WARNING, name, long) for name in ("model", "ctx-size")))
    assert heading.mapTo(view, heading.rect().topLeft()).y() == before
    assert view.list.seen() == "sampling"


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_painted_in_both_themes(view: OptionsView, dark: bool, request: pytest.FixtureRequest) -> None:
    theme().use("dark" if dark else "light")
    request.addfinalizer(lambda: theme().use("light"))
    assert not view.grab().isNull()


@pytest.mark.parametrize("key", PLACED)
def test_what_moves_tensors_leads_to_the_view_that_shows_it(qtbot, view: OptionsView, planned: Desk, key: str) -> None:
    entry = next(e for e in view._entries if e.key == key)
    made = OptionRow(planned, entry, view)
    assert made.map is not None
    assert made.map in made.stops()
    assert entry.label in made.map.accessibleName()
    with qtbot.waitSignal(planned.pageWanted) as wanted:
        made.map.click()
    assert wanted.args == ["launch", "placement"]
    other = next(e for e in view._entries if e.key == "ctx-size")
    assert OptionRow(planned, other, view).map is None
