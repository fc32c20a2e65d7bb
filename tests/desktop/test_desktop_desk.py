"""The desk: one plan, its preview, profiles, drafts and runs."""

from __future__ import annotations

from dataclasses import replace

from desk_double import WorkspaceDouble, machine_at, what_if_at_once

from paddock.desktop import drafts
from paddock.desktop.state import Desk
from paddock.desktop.whatif import changes, undone
from paddock.errors import AppError
from paddock.launch.model import Issue, Plan, Severity
from paddock.server.model import State
from paddock.text import Text


def test_an_edit_is_told_at_once_and_previewed_a_little_later(qtbot, planned: Desk) -> None:
    told = []
    planned.planChanged.connect(told.append)
    with qtbot.waitSignal(planned.previewChanged) as caught:
        planned.set("ctx-size", 4096)
        assert [p.get("ctx-size") for p in told] == ["4096"]
    assert caught.args[0].plan is planned.plan


def test_many_quick_edits_end_in_the_preview_of_the_last(qtbot, planned: Desk) -> None:
    for tokens in range(1024, 20480, 1024):
        planned.set("ctx-size", tokens)
    with qtbot.waitSignal(planned.whatIfChanged):
        pass
    assert planned.preview is not None
    assert planned.preview.plan.integer("ctx-size") == 19456


def test_undo_goes_back_step_by_step(planned: Desk) -> None:
    planned.set("ctx-size", 1024)
    planned.set("ctx-size", 2048)
    planned.undo()
    assert planned.plan.integer("ctx-size") == 1024
    planned.undo()
    assert planned.plan.integer("ctx-size") == 65536


def test_changes_are_counted_from_the_saved_profile_and_taken_back_one_by_one(planned: Desk, save) -> None:
    save("Chat")
    planned.edit(planned.plan.with_("ctx-size", 1024).with_("alias", "q"))
    found = {c.option: c for c in planned.changes()}
    assert set(found) == {"ctx-size", "alias"}
    planned.edit(undone(planned.plan, found["alias"]))
    planned.edit(undone(planned.plan, found["ctx-size"]))
    assert planned.changes() == []


def test_an_option_taken_out_is_a_change_too() -> None:
    saved = Plan().with_("alias", "a").with_("mlock")
    found = changes(saved, saved.without("mlock"))
    assert [(c.option, c.after) for c in found] == [("mlock", None)]
    assert undone(saved.without("mlock"), found[0]).is_on("mlock")


def test_a_profile_is_saved_opened_renamed_and_deleted(qtbot, planned: Desk, save) -> None:
    save("Chat")
    planned.set("ctx-size", 1024)
    with qtbot.waitSignal(planned.profileChanged):
        planned.profiles.open("Chat")
    assert planned.plan.integer("ctx-size") == 65536
    with qtbot.waitSignal(planned.profileChanged):
        planned.profiles.rename("Long chat")
    assert planned.profiles.names == ["Long chat"]
    with qtbot.waitSignal(planned.profileChanged):
        planned.profiles.delete()
    assert planned.profiles.names == []
    assert planned.plan.integer("ctx-size") == 65536


def test_a_save_counts_what_was_on_the_desk_when_it_was_asked_for(qtbot, planned: Desk, save) -> None:
    save("Chat")
    planned.set("ctx-size", 1)
    with qtbot.waitSignal(planned.profileChanged):
        planned.profiles.save()
        planned.set("ctx-size", 2)
    assert planned.saved.integer("ctx-size") == 1
    assert [c.option for c in planned.changes()] == ["ctx-size"]


def test_a_profile_that_is_not_there_is_a_sentence(qtbot, desk: Desk) -> None:
    with qtbot.waitSignal(desk.failed) as caught:
        desk.profiles.open("nobody")
    assert isinstance(caught.args[0], AppError)


def test_a_save_that_fails_leaves_the_profile_as_it_was(qtbot, planned: Desk, workspace, save, monkeypatch) -> None:
    save("Chat")

    def full(*_a: object) -> None:
        raise AppError("no space left")
    monkeypatch.setattr(workspace, "save_profile", full)
    planned.set("ctx-size", 1)
    with qtbot.waitSignal(planned.failed):
        planned.profiles.save()
    assert planned.saved.integer("ctx-size") == 65536


def test_the_plan_under_edit_is_there_again_after_a_restart(qtbot, planned: Desk, workspace, save) -> None:
    save("Chat")
    planned.set("ctx-size", 1234)
    planned.close()
    again = Desk(workspace, ask=what_if_at_once)
    with qtbot.waitSignals([again.planChanged, again.profileChanged]):
        again.start()
    assert again.plan.integer("ctx-size") == 1234
    assert again.profile.name == "Chat"
    assert [c.option for c in again.changes()] == ["ctx-size"]
    again.close()


def test_a_broken_draft_is_left_aside(workspace: WorkspaceDouble) -> None:
    path = workspace.paths.cache / "draft.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"plan": 3')
    assert drafts.load(workspace.paths) is None


def test_a_line_with_what_paddock_added_gives_the_plan_without_it(qtbot, planned: Desk) -> None:
    planned.read_line("llama-server -m /models/a.gguf -c 2048 --metrics -lv 4")
    assert {s.option for s in planned.plan} == {"model", "ctx-size"}


def test_an_addition_that_the_person_asks_for_with_another_value_stays(planned: Desk) -> None:
    planned.read_line("llama-server -m /models/a.gguf -lv 2")
    assert planned.plan.get("verbosity") == "2"


def test_a_line_with_an_open_quotation_mark_leaves_the_plan(qtbot, planned: Desk) -> None:
    before = planned.plan
    with qtbot.waitSignal(planned.failed):
        planned.read_line('llama-server -m "/models/a b.gguf')
    assert planned.plan == before


def test_a_launch_gives_a_run_whose_states_are_told(qtbot, planned: Desk, workspace: WorkspaceDouble) -> None:
    with qtbot.waitSignal(planned.pageWanted) as page:
        planned.launch()
    assert page.args[0] == "run"
    assert planned.live()
    with qtbot.waitSignal(planned.runStateChanged) as told:
        planned.run.become(State.READY)
    assert told.args[1] is State.READY
    planned.stop()
    assert planned.run.stopped
    with qtbot.waitSignal(planned.runsChanged):
        planned.run.become(State.STOPPED)
    assert not planned.live()


def test_an_error_stops_the_launch_unless_it_is_wanted_anyway(qtbot, planned: Desk, workspace) -> None:
    workspace.issues = (Issue("port", Severity.ERROR, "port", Text("A port is 1 to 65535.")),)
    with qtbot.waitSignal(planned.failed):
        planned.launch()
    assert not planned.launching
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch(anyway=True)
    assert workspace.launched[-1]["anyway"]


def test_free_memory_that_changed_is_judged_anew(qtbot, planned: Desk, workspace: WorkspaceDouble) -> None:
    before = planned.preview
    workspace.hardware = replace(machine_at(), ram_available_bytes=1 << 30)
    with qtbot.waitSignal(planned.previewChanged):
        planned.machines.refresh()
    assert planned.preview is not before


def test_a_running_server_s_own_memory_is_not_counted_against_the_plan(qtbot, planned: Desk, workspace) -> None:
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    workspace.hardware = replace(machine_at(), ram_available_bytes=1 << 30)
    with qtbot.assertNotEmitted(planned.machineChanged, wait=50):
        planned.machines.refresh()


def test_an_addition_is_switched_off_for_all_launches(qtbot, planned: Desk, workspace: WorkspaceDouble) -> None:
    with qtbot.waitSignal(planned.previewChanged):
        planned.switch_addition("metrics", False)
    assert [a.id for a in planned.preview.command.additions] == ["verbosity"]
    with qtbot.waitSignal(planned.previewChanged):
        planned.switch_addition("metrics", True)
    assert workspace.settings.additions_off == []


def test_engines_that_cannot_be_looked_for_are_said_and_the_desk_goes_on(qtbot, workspace, monkeypatch) -> None:
    def fail(refresh: bool = False) -> None:
        raise AppError("no")
    monkeypatch.setattr(workspace, "engines", fail)
    made = Desk(workspace, ask=what_if_at_once)
    with qtbot.waitSignals([made.failed, made.enginesChanged]):
        made.start()
    assert made.engines == []
    made.close()


def test_keep_serving_goes_with_the_launch_and_into_an_open_profile(qtbot, planned: Desk, workspace, save) -> None:
    planned.profiles.keep_serving(True)
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    assert workspace.launched[-1]["keep_serving"]
    save("Chat")
    with qtbot.waitSignal(planned.profileChanged):
        planned.profiles.keep_serving(True)
    assert workspace.profiles.load("Chat").keep_serving
    assert planned.profile.keep_serving


def test_variables_prefix_and_engine_are_changes_too() -> None:
    saved = Plan(environment=(("GGML_VK_DISABLE_F16", "1"),), engine="old").with_("alias", "a")
    plan = replace(saved, environment=(("CUDA_VISIBLE_DEVICES", "1"),), prefix=("numactl", "-N", "0"), engine=None)
    found = changes(saved, plan)
    assert [(c.kind, c.option) for c in found] == [
        ("variable", "CUDA_VISIBLE_DEVICES"), ("variable", "GGML_VK_DISABLE_F16"), ("prefix", "prefix"),
        ("engine", "engine")]
    for change in found:
        plan = undone(plan, change)
    assert plan == saved


def test_an_engine_that_is_found_anew_is_the_engine_at_once(qtbot, planned: Desk, workspace) -> None:
    old = planned.engine()
    assert old is not None
    newer = replace(old, version="newer")
    workspace.found = [newer]
    with qtbot.waitSignal(planned.enginesChanged):
        planned.find_engines(refresh=True)
    assert planned.engine() == newer
