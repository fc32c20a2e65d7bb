"""What can be done with profiles in the window: details, history, comparison, use cases, defaults, and taking back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from desk_double import WorkspaceDouble, engine_at, what_if_at_once
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QFileDialog, QLabel, QToolButton
from recordedengine import recorded_engine

from paddock.desktop import drafts
from paddock.desktop.pages.launch.page import LaunchPage
from paddock.desktop.pages.launch.profile_compare import CompareDialog
from paddock.desktop.pages.launch.profile_defaults import DefaultsDialog
from paddock.desktop.pages.launch.profile_details import DetailsDialog
from paddock.desktop.pages.launch.profile_history import HistoryDialog
from paddock.desktop.pages.launch.profile_list import ProfileListDialog
from paddock.desktop.pages.launch.profile_marks import colour_words, mark_icon
from paddock.desktop.pages.launch.profile_use_cases import UseCaseDialog
from paddock.desktop.state import Desk
from paddock.launch.model import Plan
from paddock.store import Profile
from paddock.store.profile_form import COLOURS

MODEL = "/models/Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf"


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceDouble:
    """With an engine that knows every option of build 11434."""
    return WorkspaceDouble(tmp_path / "data", engines=[engine_at(options=recorded_engine().options)])


@pytest.fixture
def page(qtbot, planned: Desk) -> LaunchPage:
    made = LaunchPage(planned)
    qtbot.addWidget(made)
    made.resize(1200, 700)
    made.show()
    return made


@pytest.fixture
def do(qtbot, planned: Desk) -> Callable[[Callable[[], object]], None]:
    """Do it and wait for the profiles to have changed."""
    def act(function: Callable[[], object]) -> None:
        with qtbot.waitSignal(planned.profileChanged):
            function()
    return act


def texts(dialog: QDialog) -> list[str]:
    return [label.accessibleName() or label.text() for label in dialog.findChildren(QLabel)]


def test_details_are_shown_and_saved_without_the_plan_that_is_being_edited(
        qtbot, planned: Desk, workspace: WorkspaceDouble, save, do) -> None:
    save("Chat")
    planned.set("ctx-size", 99)
    dialog = DetailsDialog(planned, planned.profile)
    qtbot.addWidget(dialog)
    dialog.notes.setPlainText("For every day.\nReally.")
    dialog.tags.setText(" work,  long  night ,, work")
    dialog.colour.setCurrentIndex(dialog.colour.findData("teal"))
    dialog.restarts.setValue(0)
    dialog.keep.setChecked(True)
    do(lambda: qtbot.mouseClick(dialog.store, Qt.MouseButton.LeftButton))
    saved = workspace.profiles.load("Chat")
    assert (saved.notes, saved.tags, saved.colour, saved.keep_serving) == (
        "For every day.\nReally.", ("work", "long night"), "teal", True)
    assert saved.plan.get("ctx-size") != "99"
    assert [change.option for change in planned.changes()] == ["ctx-size"]


def test_a_name_that_is_taken_or_none_cannot_be_saved(qtbot, planned: Desk, save) -> None:
    save("Other")
    save("Chat")
    dialog = DetailsDialog(planned, planned.profile)
    qtbot.addWidget(dialog)
    dialog.name.setText("Other")
    assert not dialog.store.isEnabled()
    assert "Other" in dialog.taken.full_text()
    dialog.name.setText("  ")
    assert not dialog.store.isEnabled()
    dialog.name.setText("New")
    assert dialog.store.isEnabled()


def test_a_mark_of_another_paddock_survives_the_dialog(qtbot, planned: Desk, workspace: WorkspaceDouble, save,
                                                       do) -> None:
    save("Chat")
    do(lambda: planned.profiles.describe(colour="chartreuse"))
    dialog = DetailsDialog(planned, planned.profile)
    qtbot.addWidget(dialog)
    dialog.notes.setPlainText("n")
    do(lambda: qtbot.mouseClick(dialog.store, Qt.MouseButton.LeftButton))
    assert workspace.profiles.load("Chat").colour == "chartreuse"


@pytest.mark.parametrize("colour", COLOURS)
def test_every_mark_has_a_shape_and_a_name(qapp, colour: str) -> None:
    others = [mark_icon(other).pixmap(16, 16).toImage() for other in COLOURS if other != colour]
    assert mark_icon(colour).pixmap(16, 16).toImage() not in others
    assert colour_words(colour) != colour_words("")
    assert mark_icon("chartreuse").isNull()


def test_a_deletion_is_undone_by_one_click(qtbot, page: LaunchPage, planned: Desk, save, do) -> None:
    save("Chat")
    planned.set("ctx-size", 99)
    do(planned.profiles.delete)
    assert planned.profile is None
    assert page.told.isVisible()
    assert "“Chat” was deleted" in page.told.accessibleName()
    do(page.told._acts.itemAt(0).widget().click)
    assert planned.profile.name == "Chat"
    assert planned.plan.get("ctx-size") == "99"
    assert [change.option for change in planned.changes()] == ["ctx-size"]
    assert not page.told.isVisible()


def test_deleted_profiles_are_in_the_menu(page: LaunchPage, planned: Desk, save, do) -> None:
    save("A & B")
    do(planned.profiles.delete)
    inner = next(a.menu() for a in page.profiles.menu().actions() if a.text() == "Bring back")
    do(inner.actions()[0].trigger)
    assert planned.profiles.names == ["A & B"]


def test_a_copy_is_opened_and_has_a_name_of_its_own(planned: Desk, save, do) -> None:
    save("Chat")
    do(planned.profiles.duplicate)
    assert planned.profile.name == "Chat copy"
    assert planned.profiles.names == ["Chat", "Chat copy"]


def test_the_history_shows_what_going_back_would_change_and_goes_back(qtbot, planned: Desk, workspace, save,
                                                                     do) -> None:
    save("Chat")
    planned.set("ctx-size", 2048)
    do(planned.profiles.save)
    planned.set("temp", 0)
    do(planned.profiles.save)
    dialog = HistoryDialog(planned, planned.profile)
    qtbot.addWidget(dialog)
    qtbot.waitUntil(lambda: dialog.list.count() == 3)
    assert "(now)" in dialog.list.item(0).text()
    dialog.list.setCurrentRow(0)
    assert not dialog.back.isEnabled()
    dialog.list.setCurrentRow(2)
    assert "-c: 2048, then 65536" in dialog.differences.accessibleDescription()
    do(lambda: qtbot.mouseClick(dialog.back, Qt.MouseButton.LeftButton))
    assert planned.plan.get("ctx-size") == "65536"
    assert planned.plan.find("temp") is None
    assert planned.changes() == []
    assert workspace.profiles.history("Chat")[0].number == 4


def test_only_what_differs_from_another_profile_is_shown(qtbot, planned: Desk, workspace, save, do) -> None:
    save("Chat")
    workspace.profiles.save(Profile("Other", Plan().with_("model", "/x.gguf").with_("ctx-size", 65536)))
    do(planned.profiles.refresh)
    dialog = CompareDialog(planned)
    qtbot.addWidget(dialog)
    assert [dialog.other.itemText(i) for i in range(dialog.other.count())] == ["Other"]
    told = dialog.differences.accessibleDescription()
    assert "/x.gguf" in told
    assert "-c:" not in told
    dialog.without_model.setChecked(True)
    assert dialog.differences.accessibleDescription() == "They ask for the same."


def test_a_use_case_says_why_and_sets_only_what_is_ticked(qtbot, planned: Desk) -> None:
    dialog = UseCaseDialog(planned)
    qtbot.addWidget(dialog)
    dialog.list.setCurrentRow(4)
    assert dialog.purpose.full_text() == "Variety without loops."
    assert {"temp", "min-p", "dry-multiplier"} <= set(dialog.boxes)
    for option, box in dialog.boxes.items():
        assert dialog.suggestion is not None
        box.setChecked(option == "temp")
    dialog.take.click()
    assert planned.plan.get("temp") == "1"
    assert planned.plan.find("min-p") is None
    assert planned.can_undo()


def test_every_use_case_can_be_shown(qtbot, planned: Desk) -> None:
    dialog = UseCaseDialog(planned)
    qtbot.addWidget(dialog)
    for row in range(dialog.list.count()):
        dialog.list.setCurrentRow(row)
        assert dialog.suggestion is not None
        assert len(dialog.boxes) == len(dialog.suggestion.made)
    assert dialog.list.count() == 10


def test_values_say_where_they_come_from_and_move_to_the_defaults(qtbot, page: LaunchPage, planned: Desk, workspace,
                                                                 save, do) -> None:
    assert not page.form.origins.isVisible()
    planned.set("temp", "0.5")
    save("Chat")
    dialog = DefaultsDialog(planned)
    qtbot.addWidget(dialog)
    assert "model" not in dialog.choices
    assert not dialog.store.isEnabled()
    for option, level in (("temp", "architecture"), ("ctx-size", "all")):
        dialog.choices[option].setCurrentIndex(dialog.choices[option].findData(level))
    dialog._count()
    do(lambda: qtbot.mouseClick(dialog.store, Qt.MouseButton.LeftButton))
    assert workspace.defaults.load().get("ctx-size") == "65536"
    assert workspace.defaults.load("qwen3moe").get("temp") == "0.5"
    assert workspace.profiles.load("Chat").plan == Plan().with_("model", MODEL)
    assert planned.changes() == []
    assert {key: layer.architecture for key, layer in planned.profiles.origins().items()} == {
        "ctx-size": None, "temp": "qwen3moe"}
    assert "From the defaults for qwen3moe: --temp 0.5" in page.form.origins.words.full_text()
    assert page.form.origins.isVisible()
    assert "2 values" in page.told.accessibleName()
    do(page.told._acts.itemAt(0).widget().click)
    assert workspace.defaults.load() == workspace.defaults.load("qwen3moe") == Plan()
    assert workspace.profiles.load("Chat").plan == planned.plan
    assert planned.changes() == []


def test_a_default_that_the_plan_does_not_take_is_taken_by_one_click(qtbot, planned: Desk, workspace, do) -> None:
    workspace.defaults.save(Plan().with_("ctx-size", 4096).with_("top-k", 7))
    do(planned.profiles.refresh)
    dialog = DefaultsDialog(planned)
    qtbot.addWidget(dialog)
    takes = [b for b in dialog.findChildren(QToolButton) if b.accessibleName().startswith("Take ") and
             "from the defaults for all models" in b.accessibleName()]
    assert [b.accessibleName().split()[1] for b in takes] == ["-c", "--top-k"]
    takes[0].click()
    assert planned.plan.get("ctx-size") == "4096"
    assert planned.plan.find("top-k") is None
    assert planned.profiles.origins().keys() == {"ctx-size"}
    assert dialog.choices["ctx-size"].currentData() == "all"


def test_all_options_say_which_values_come_from_the_defaults(qtbot, page: LaunchPage, planned: Desk, workspace,
                                                            do) -> None:
    page.show_item("options")
    view = page._view("options")
    workspace.defaults.save(Plan().with_("ctx-size", 65536))
    do(planned.profiles.refresh)
    assert view._effects["ctx-size"] == "from the defaults for all models"
    planned.set("ctx-size", 1)
    assert "ctx-size" not in view._effects


def test_a_default_becomes_the_profile_s_own_and_leaves_the_defaults(qtbot, planned: Desk, workspace, save, do) -> None:
    workspace.defaults.save(Plan().with_("ctx-size", 65536).with_("top-k", 1))
    save("Chat")
    do(planned.profiles.refresh)
    assert workspace.profiles.load("Chat").left_out == ("top-k",)
    do(lambda: planned.profiles.move({"ctx-size": "own"}))
    assert workspace.profiles.load("Chat").plan.get("ctx-size") == "65536"
    assert workspace.defaults.load().get("ctx-size") == "65536"
    do(lambda: planned.profiles.forget_default("ctx-size", None))
    assert workspace.defaults.load() == Plan().with_("top-k", 1)
    assert planned.profiles.origins() == {}


def test_a_profile_that_changed_on_the_way_says_what_and_counts_it_as_changes(
        qtbot, page: LaunchPage, planned: Desk, workspace, do) -> None:
    (workspace.profiles.folder).mkdir(parents=True)
    (workspace.profiles.folder / "Old.toml").write_text('schema_version = 1\nname = "Old"\n[settings]\ntemp = "0"\n')
    do(lambda: planned.profiles.open("Old"))
    assert page.told.isVisible()
    assert "older Paddock" in page.told.accessibleName()
    assert planned.plan.get("temp") == "0"


def test_a_save_over_that_of_another_window_is_told(qtbot, page: LaunchPage, planned: Desk, workspace, save,
                                                    do) -> None:
    save("Chat")
    theirs = workspace.profiles.load("Chat")
    workspace.profiles.save(replace(theirs, notes="theirs"))
    planned.set("ctx-size", 1)
    do(planned.profiles.save)
    assert "Another Paddock" in page.told.accessibleName()
    assert workspace.profiles.load("Chat").notes == "theirs"


@pytest.mark.parametrize("meanwhile", ["deleted", "renamed"])
def test_a_profile_that_another_window_took_away_is_saved_with_all_that_belongs_to_it(
        planned: Desk, workspace, save, do, meanwhile: str) -> None:
    save("Chat")
    do(lambda: planned.profiles.describe(notes="n", tags=("a",), colour="teal"))
    if meanwhile == "deleted":
        workspace.profiles.delete("Chat")
    else:
        workspace.profiles.rename("Chat", "Talk")
    planned.set("ctx-size", 1)
    do(planned.profiles.save)
    saved = workspace.profiles.load("Chat")
    assert (saved.notes, saved.tags, saved.colour, saved.plan.get("ctx-size")) == ("n", ("a",), "teal", "1")
    assert len(workspace.profiles.history("Chat")) == (3 if meanwhile == "deleted" else 1)


def test_profiles_of_another_window_appear_when_this_one_is_active_again(qtbot, page: LaunchPage, planned: Desk,
                                                                        workspace, do) -> None:
    workspace.profiles.save(Profile("Theirs", Plan()))
    do(lambda: page.profiles._look_again(Qt.ApplicationState.ApplicationActive))
    assert page.profiles.box.findData("Theirs") >= 0


def test_profiles_go_to_a_file_and_come_from_one(qtbot, page: LaunchPage, planned: Desk, workspace, save, do,
                                                tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save("Chat")
    target = tmp_path / "out.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_a, **_k: (str(target), ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a, **_k: (str(target), ""))
    do(page.profiles._export)
    assert "ctx-size" in target.read_text()
    do(page.profiles._import)
    assert planned.profile.name == "Chat (2)"
    assert "Saved as" in page.told.accessibleName()


def test_profiles_of_this_model_stand_first_with_their_marks(page: LaunchPage, planned: Desk, workspace, save,
                                                            do) -> None:
    save("Mine")
    workspace.profiles.save(Profile("A foreign one", Plan().with_("model", "/x.gguf"), colour="pink", notes="n"))
    do(planned.profiles.refresh)
    box = page.profiles.box
    assert [box.itemData(i) for i in range(box.count())] == ["Mine", None, "A foreign one"]
    assert not box.itemIcon(2).isNull()
    assert "n" in box.itemData(2, Qt.ItemDataRole.ToolTipRole)


def test_what_was_set_for_a_model_and_never_served_is_offered_when_it_is_opened_again(
        qtbot, page: LaunchPage, planned: Desk, workspace) -> None:
    planned.set("ctx-size", 1234)
    drafts.keep(workspace, drafts.Draft(planned.plan, planned.saved), True)
    with qtbot.waitSignal(planned.profiles.told):
        planned.open_model(MODEL)
    assert planned.plan.get("ctx-size") == "65536"
    assert "1 option otherwise" in page.told.accessibleName()
    page.told._acts.itemAt(0).widget().click()
    assert planned.plan.get("ctx-size") == "1234"


def test_a_launch_keeps_the_draft_before_the_server_starts(qtbot, planned: Desk, workspace) -> None:
    planned.set("ctx-size", 4321)
    with qtbot.waitSignal(planned.pageWanted):
        planned.launch()
    qtbot.waitUntil(lambda: drafts.load(workspace.paths) is not None)
    kept = drafts.load(workspace.paths)
    assert kept is not None
    assert kept.plan.get("ctx-size") == "4321"


def test_a_draft_holds_no_key(workspace: WorkspaceDouble) -> None:
    drafts.save(workspace.paths, drafts.Draft(Plan().with_("api-key", "s3cret").with_("temp", 0)))
    assert b"s3cret" not in (workspace.paths.cache / "draft.json").read_bytes()
    kept = drafts.load(workspace.paths)
    assert kept is not None
    assert kept.plan.get("temp") == "0"


def test_a_profile_can_be_opened_before_there_is_a_plan(qtbot, workspace: WorkspaceDouble) -> None:
    workspace.profiles.save(Profile("Chat", Plan().with_("model", MODEL)))
    desk = Desk(workspace, ask=what_if_at_once)  # type: ignore[arg-type]
    page = LaunchPage(desk)
    qtbot.addWidget(page)
    page.show()
    with qtbot.waitSignal(desk.profileChanged):
        desk.start()
    assert page.profiles.isVisible()
    with qtbot.waitSignal(desk.profileChanged):
        page.profiles._chosen(page.profiles.box.findData("Chat"))
    assert desk.plan.get("model") == MODEL
    desk.close()


def test_the_command_that_is_shown_is_the_profile_s_on_every_way_to_it(qtbot, planned: Desk, workspace, save, do,
                                                                      tmp_path: Path) -> None:
    """Switching model or profile, in any order, leaves nothing of what was open before (or behind the defaults)."""
    workspace.defaults.save(Plan().with_("threads", "4"))
    for name, context in (("A", "1111"), ("B", "2222")):
        workspace.profiles.save(Profile(name, Plan().with_("model", f"/models/{name}.gguf").with_("ctx-size", context)
                                        .with_("flash-attn", "off")))

    def shown() -> list[str]:
        with qtbot.waitSignal(planned.previewChanged, timeout=3000):
            planned.refresh_preview()
        return list(planned.preview.command.own_argv)

    for name, context in (("A", "1111"), ("B", "2222"), ("A", "1111")):
        do(lambda name=name: planned.profiles.open(name))
        assert shown() == ["--model", f"/models/{name}.gguf", "--ctx-size", context, "--flash-attn", "off", "--threads",
                           "4"]
        with qtbot.waitSignal(planned.pageWanted):
            planned.open_model("/models/other.gguf")
        assert shown() == ["--model", "/models/other.gguf", "--ctx-size", "65536"]
        assert planned.profile is None


def test_among_many_profiles_a_word_finds_the_one(qtbot, page: LaunchPage, planned: Desk, workspace, save, do) -> None:
    save("Chat")
    for number in range(30):
        workspace.profiles.save(Profile(f"Number {number}", Plan().with_("model", "/m/Llama.gguf"), notes="a note",
                                        tags=("odd",) if number % 2 else ()))
    do(planned.profiles.refresh)
    opened: list[str] = []
    dialog = ProfileListDialog(planned, opened.append)
    qtbot.addWidget(dialog)
    assert len(dialog.shown()) == 31
    dialog.search.setText("ODD llama 17")
    assert dialog.shown() == ["Number 17"]
    dialog.search.setText("nowhere")
    assert dialog.shown() == []
    assert not dialog.go.isEnabled()
    dialog.search.setText("number 4")
    assert dialog.shown() == ["Number 14", "Number 24", "Number 4"]
    dialog.show()
    qtbot.keyClick(dialog.search, Qt.Key.Key_Down)
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    assert opened == ["Number 24"]


def test_the_box_goes_back_to_what_is_open_when_another_cannot_be(qtbot, page: LaunchPage, planned: Desk, workspace,
                                                                 save, do) -> None:
    save("Chat")
    workspace.profiles.save(Profile("Gone", Plan()))
    do(planned.profiles.refresh)
    workspace.profiles.delete("Gone")
    box = page.profiles.box
    box.setCurrentIndex(box.findData("Gone"))
    with qtbot.waitSignal(planned.failed):
        box.activated.emit(box.currentIndex())
    assert box.currentData() == "Chat"
